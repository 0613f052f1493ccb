"""The files that a board's start needs: their names where they are written, and their places there.

``analyzer.apply`` writes them; ``tracer.install`` puts them on a board.
"""

from __future__ import annotations

SCRIPT = "foreread-apply"
PLACE = "/usr/sbin/foreread-apply"
SCRIPT_PLACES = (PLACE, "/etc/foreread-apply")
REPLAYER = "foreread-prefetch"
LIST = "foreread-prefetch.list"
LIST_PLACE = "/etc/foreread-prefetch.list"
RULE = "udev/99-zz-foreread.rules"
RULE_PLACE = "/etc/udev/rules.d/99-zz-foreread.rules"
ATTEMPTS = "foreread-apply.attempts"  # boots that did not end, in a folder of the board


def beside(script: str, name: str) -> str:
    """Return the path of a program in the folder of the script."""
    return f"{script.rpartition('/')[0]}/{name}"
