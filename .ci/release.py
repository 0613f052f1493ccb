#!/usr/bin/env python3
"""Check that the version is the same wherever it is written, and print how to tag it.

usage: release.py check [ROOT]     version, CHANGELOG.md and debian/changelog; exit 1 if they differ
       release.py tagged [ROOT]    the same, and that the tag is on the current commit
       release.py date [ROOT]      the day of the newest release in CHANGELOG.md, or today

The version is written in foreread/version.py; everything else follows it.
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from email.utils import parsedate_to_datetime
from pathlib import Path

HEADING = re.compile(r"^## (\S+) \((\S+)\)$", re.MULTILINE)
DEBIAN = re.compile(r"^foreread \((\S+)\) .*?^ -- .*?>  (.*?)$", re.MULTILINE | re.DOTALL)


def version(root: Path) -> str:
    """Return the version of the package."""
    match = re.search(r'^VERSION = "(.+)"$', (root / "foreread/version.py").read_text(), re.M)
    return match[1] if match else "no VERSION in foreread/version.py"


def newest(root: Path) -> tuple[str, str]:
    """Return version and day (YYYY-MM-DD) of the newest entry of CHANGELOG.md."""
    match = HEADING.search((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    return (match[1], match[2]) if match else ("no heading", "")


def newest_of_debian(root: Path) -> tuple[str, str]:
    """Return version and day (YYYY-MM-DD) of the newest entry of debian/changelog."""
    match = DEBIAN.search((root / "debian/changelog").read_text(encoding="utf-8"))
    if not match:
        return "no entry", ""
    return match[1], parsedate_to_datetime(match[2]).date().isoformat()


def differences(root: Path) -> list[str]:
    """Return what disagrees, one line each."""
    right = version(root)
    written = {"CHANGELOG.md": newest(root), "debian/changelog": newest_of_debian(root)}
    lines = [
        f"{name} has {other}, foreread/version.py has {right}"
        for name, (other, _) in written.items()
        if other != right
    ]
    days = {name: day for name, (_, day) in written.items()}
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", days["CHANGELOG.md"]):
        lines.append(f"CHANGELOG.md gives no day of release: {days['CHANGELOG.md']}")
    elif len(set(days.values())) > 1:
        lines.append("days of release differ: " + ", ".join(f"{n} {d}" for n, d in days.items()))
    return lines


def untagged(root: Path) -> list[str]:
    """Return why the current commit does not carry the annotated tag of its version."""
    tag = f"v{version(root)}"
    commit = _git(root, "rev-parse", "HEAD")
    kind = _git(root, "cat-file", "-t", tag)
    if kind != "tag":
        return [f"{tag} is not an annotated tag; type: git tag -a {tag} -m 'foreread {tag[1:]}'"]
    tagged = _git(root, "rev-parse", f"{tag}^{{commit}}")
    return (
        []
        if tagged == commit
        else [f"{tag} is on {tagged[:12]}, the current commit is {commit[:12]}"]
    )


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def day_of_release(root: Path) -> str:
    """Return the day of the newest entry of CHANGELOG.md, or today if it is unreleased."""
    try:
        return datetime.date.fromisoformat(newest(root)[1]).isoformat()
    except ValueError:
        return datetime.datetime.now(tz=datetime.UTC).date().isoformat()


def main(command: str, folder: str = "") -> int:
    """Run one command; return its exit status."""
    root = Path(folder) if folder else Path(__file__).parents[1]
    if command == "date":
        print(day_of_release(root))
        return 0
    lines = differences(root) + (untagged(root) if command == "tagged" else [])
    print("\n".join(lines) or f"release {version(root)}: everything agrees")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
