"""Shell text whose paths of a machine lie below a scratch folder."""

from __future__ import annotations

import re
from pathlib import Path

# Where a path of the real machine begins in a script; "/proc/sys/" holds no second one.
ROOTS = re.compile(
    r"(?<![\w/.$}])/(?=(?:sys|proc|run|dev/kmsg|dev/foreread|etc/foreread-apply\.attempts)\b"
    r"|dev[ ;\n])"
)


def below(root: Path, script: str) -> str:
    """Return the script with all its paths below ``root``."""
    return ROOTS.sub(f"{root}/", script)
