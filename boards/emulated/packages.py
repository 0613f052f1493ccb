"""Debian packages of any architecture, by this machine's apt and its configured sources.

Nothing is installed here: apt works in a private root with an empty status file, where "install
--download-only" fetches a package with all its dependencies.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from foreread.boards.emulated.error import BoardError, call, require_tool

_OFFLINE = "the first use of a board needs the network and apt sources (or a copy of the cache)"
_CONFIGURATION = """\
APT::Architecture "{arch}";
APT::Architectures {{ "{arch}"; }};
APT::Sandbox::User "root";
APT::Get::List-Cleanup "false";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Dir::State "{root}/state";
Dir::State::status "{root}/status";
Dir::Cache "{root}/cache";
"""
_OWN_SOURCES = """\
Dir::Etc::sourcelist "{root}/sources.list";
Dir::Etc::sourceparts "-";
"""
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class AptRoot:
    """apt for one Debian architecture; its lists are below ``root``.

    With a ``suite`` (bullseye, say) apt reads only this suite, from this machine's Debian mirror.
    """

    def __init__(self, root: Path, arch: str, suite: str = "") -> None:
        self.root = root / (f"{arch}-{suite}" if suite else arch)
        self.arch = arch
        self.suite = suite
        self._updated = False
        self._complaint = ""

    def closure(self, names: Sequence[str], into: Path) -> None:
        """Download packages and all their dependencies; raises BoardError."""
        self._ready()
        archives = f"Dir::Cache::archives={into}/"
        words = ("install", "-y", "--no-install-recommends", "--download-only")
        self._apt("apt-get", "-o", archives, *words, "--", *names)
        (into / "lock").unlink(missing_ok=True)
        (into / "partial").rmdir()

    def download(self, names: Sequence[str], into: Path) -> None:
        """Download these packages only; raises BoardError."""
        self._ready()
        self._apt("apt-get", "download", "--", *names, cwd=into)

    def depends(self, name: str) -> list[str]:
        """Return the direct dependencies of package ``name``; empty if it does not exist."""
        self._ready()
        try:
            text = self._apt("apt-cache", "depends", "--", name)
        except BoardError:
            return []
        return re.findall(r"^  Depends: (\S+)$", text, re.MULTILINE)

    def why_missing(self, what: str) -> BoardError:
        """Return the error for a package that the sources lack."""
        complaint = f" ({self._complaint})" if self._complaint else ""
        return BoardError(
            f"apt's sources have no {what} for {self.arch}{complaint}", self._remedy()
        )

    def _remedy(self) -> str:
        if self._complaint:
            return _OFFLINE
        return "add a Debian source that has it (the release's, its security, or backports)"

    def _ready(self) -> None:
        """Fetch the lists once; gaps of an incomplete mirror show when a package is needed."""
        if self._updated:
            return
        for name in ("state/lists/partial", "cache/archives/partial"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        (self.root / "status").touch()
        configuration = _CONFIGURATION.format(arch=self.arch, root=self.root)
        if self.suite:
            (self.root / "sources.list").write_text(f"{_source_of(self.suite)}\n")
            configuration += _OWN_SOURCES.format(root=self.root)
        (self.root / "apt.conf").write_text(configuration)
        try:
            self._apt("apt-get", "update")
        except BoardError as error:
            self._complaint = str(error)
        self._updated = True

    def _apt(self, tool: str, *words: str, cwd: Path | None = None) -> str:
        own = {"APT_CONFIG": str(self.root / "apt.conf"), "LC_ALL": "C"}
        return call([require_tool(tool, "apt"), *words], self._remedy(), {**os.environ, **own}, cwd)


def unpack(archives: Sequence[Path], into: Path) -> None:
    """Unpack .deb files below ``into``; raises BoardError."""
    tool = require_tool("dpkg-deb", "dpkg")
    for archive in archives:
        call([tool, "-x", archive, into], "remove the cached package; it is fetched again")


def _source_of(suite: str) -> str:
    """Return the line of sources.list for a suite of Debian, from this machine's own mirror."""
    tool = require_tool("apt-get", "apt")
    words = [tool, "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(SITE)"]
    targets = call([*words, "Created-By: Packages"], _OFFLINE).split("\n")
    sites = [target.split()[2] for target in targets if re.fullmatch(r"Debian [a-z]+ \S+", target)]
    if not sites:
        raise BoardError("apt's sources have no release of Debian", "add one: see sources.list(5)")
    signed = f"[signed-by={_KEYRING}] " if _KEYRING.exists() else ""
    return f"deb {signed}{sites[0]} {suite} main"


def find_kernel(apt: AptRoot, kernel: str, flavour: str) -> str:
    """Return the release (``6.1.0-50-armmp``) of the newest packaged kernel of that version."""
    for meta in (f"linux-image-{flavour}", f"linux-image-{kernel}-{flavour}"):
        for image in apt.depends(meta):
            if image.startswith(f"linux-image-{kernel}."):
                return image.removeprefix("linux-image-")
    raise apt.why_missing(f"kernel {kernel} ({flavour})")


def kernel_packages(apt: AptRoot, release: str) -> list[str]:
    """Return the packages with the files of a kernel; Debian 14 and later have several."""
    image = f"linux-image-{release}"
    parts = (f"linux-binary-{release}", f"linux-modules-{release}")
    return [image, *(name for name in apt.depends(image) if name in parts)]
