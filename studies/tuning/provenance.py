"""How figures were made: command, commit, date, versions."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("numpy", "optuna", "torch")


def made() -> dict[str, str]:
    """Return how this process makes figures; versions of the packages that are installed."""
    words = [f"python -m studies.tuning.{Path(sys.argv[0]).stem}", *sys.argv[1:]]
    facts = {
        "command": " ".join(words).replace(f"{ROOT}/", ""),
        "commit": _commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "python": sys.version.split()[0],
    }
    for name in PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            continue
    return facts


def _commit() -> str:
    """Return the commit checked out and its subject, which a rebase keeps; empty without git.

    A + after it: files differ from it.
    """
    try:
        commit = _git("log", "-1", "--format=%h: %s")
        changed = _git("status", "--porcelain", "--untracked-files=no", "analyzer", "studies/*.py")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{commit}+" if changed else commit


def _git(*words: str) -> str:
    line = ["git", "-C", str(ROOT), *words]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()
