"""``--profile FILE``: a board profile that a command changes."""

from __future__ import annotations

from pathlib import Path

from foreread.boards.base.outputs import check_file
from foreread.boards.profile import builtin_names, read_profile
from foreread.cli.arguments import UsageError


def check_profile(path: Path, option: str = "--profile") -> None:
    """Raise UsageError, ProfileError or OutputError unless a user's own profile can be changed."""
    if str(path) in builtin_names():
        raise UsageError(
            f"{option}: {path} comes with foreread and is not changed; create your own with "
            "`foreread boards new -o FILE`"
        )
    read_profile(path)
    check_file(path, option)
