"""The page's script, from the modules beside this file.

A module's imports are those of other modules here, on one line each. In the page all are one script
without modules, since a page that is opened from a file may not import.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
WORKER = ("setting", "core", "pages", "raster", "worker")
PAGE = ("setting", "words", "client", "curve", "fields", "files", "map_view", "results", "main")


@cache
def script() -> str:
    """Return the script of the page; the workers' source is a string in it."""
    worker = json.dumps(joined(WORKER)).replace("<", "\\u003c")
    return f"{joined(PAGE)}\nconst foreread = begin({worker});\n"


def joined(names: tuple[str, ...]) -> str:
    """Return modules as one strict script, each after those that it imports from."""
    modules = [_inner((HERE / f"{name}.mjs").read_text()) for name in names]
    return "'use strict';\n" + "\n".join(modules)


def _inner(module: str) -> str:
    """Return a module without its imports, exports and comments that fill lines."""
    kept = [line for line in module.splitlines() if not line.startswith("import ")]
    text = "\n".join(line.removeprefix("export ") for line in kept)
    return re.sub(r"^\s*(/\*(?s:.*?)\*/|//.*)\n", "", text, flags=re.MULTILINE)
