"""``--profile FILE``: a board profile that a command changes."""

from __future__ import annotations

from pathlib import Path

from boards.profile import builtin_names, read_profile
from foreread.cli.arguments import UsageError


def check_profile(path: Path) -> None:
    """Raise UsageError or ProfileError unless the profile is the user's own and valid."""
    if str(path) in builtin_names():
        raise UsageError(
            f"--profile: {path} comes with foreread and is not changed; create your own with "
            "`foreread boards new -o FILE`"
        )
    read_profile(path)
