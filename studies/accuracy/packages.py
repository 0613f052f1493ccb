"""Installed Debian packages: their dependencies and files."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

# No package depends on these: every Debian system has them.
ESSENTIAL = ("bash", "coreutils", "dash", "grep", "mawk", "sed", "util-linux")
_FIELDS = "${db:Status-Abbrev}\t${Package}\t${Provides}\t${Pre-Depends}, ${Depends}\n"
# Applications do not read documentation.
_LEFT_OUT = ("usr/share/doc/", "usr/share/man/", "usr/share/locale/", "boot/", "var/")
_SETTINGS = ("etc/ld.so.cache", "etc/alternatives", "etc/passwd", "etc/fonts", "usr/bin/sh")
# Written when the packages were installed.
_GENERATED = ("etc/libreoffice", "var/lib/libreoffice", "var/lib/texmf", "var/lib/ghc")


def files_of(packages: Sequence[str]) -> list[str]:
    """Return the files of installed packages and of their dependencies, relative to ``/``."""
    names = closure((*packages, *ESSENTIAL), _output("dpkg-query", "-W", "-f", _FIELDS))
    listing = _output("dpkg", "-L", *names).splitlines()
    listed = {path.lstrip("/") for path in listing}
    files = [path for path in listed if not path.startswith(_LEFT_OUT)]
    kept = [path for path in files if os.path.lexists(f"/{path}") and not _has_files(path)]
    kept += [path for path in (*_SETTINGS, *_GENERATED) if Path("/", path).exists()]
    return sorted({*kept, *_alternatives()})


def closure(packages: Iterable[str], installed: str) -> list[str]:
    """Return ``packages`` and all that they depend on, of those that are installed.

    ``installed`` has a line for each package known to dpkg: status, name, what it provides, and
    what it depends on, separated by tabs. Of alternatives, all that are installed are taken.
    """
    needs: dict[str, list[str]] = {}
    providers: dict[str, list[str]] = {}
    for line in installed.splitlines():
        status, name, provides, depends = line.split("\t")
        if status.startswith("ii"):
            needs[name] = _names(depends)
            for provided in (name, *_names(provides)):
                providers.setdefault(provided, []).append(name)
    return _reachable(packages, needs, providers)


def _reachable(
    packages: Iterable[str], needs: Mapping[str, list[str]], providers: Mapping[str, list[str]]
) -> list[str]:
    reachable: set[str] = set()
    pending = list(packages)
    while pending:
        for name in providers.get(pending.pop(), []):
            if name not in reachable:
                reachable.add(name)
                pending += needs[name]
    return sorted(reachable)


def _names(relations: str) -> list[str]:
    """Return the names in a field like ``a (>= 1), b:any | c``."""
    texts = (
        re.match(r"\s*([a-z0-9][a-z0-9+.-]*)", relation)
        for relation in re.split(r"[,|]", relations)
    )
    return [text[1] for text in texts if text]


def _alternatives() -> list[str]:
    """Return the links to alternatives, which no package lists."""
    links = _output("find", "/usr", "-lname", "/etc/alternatives/*").splitlines()
    paths = [path.lstrip("/") for path in links]
    return [path for path in paths if not path.startswith(_LEFT_OUT)]


def _has_files(folder: str) -> bool:
    """Return whether this is a folder that is not empty: it comes with its files."""
    path = Path("/", folder)
    return path.is_dir() and not path.is_symlink() and any(path.iterdir())


def _output(*words: str) -> str:
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
