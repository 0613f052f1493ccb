"""Configures packages as apt would: their maintainer scripts run on a board, at image build.

A board has no dpkg: Debian's base system would take most of its memory, which also holds its disk.
So a separate board of the same architecture, booted for this step, configures the packages together
with the base system, and the changes of their scripts go into the image: users, links of
alternatives, generated configuration. The step uses neither this machine's root nor its CPU.
"""

from __future__ import annotations

import io
import os
import re
import tarfile
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from foreread.boards.emulated import guest_protocol, image, systemd_root
from foreread.boards.emulated.error import BoardError, call, require_tool
from foreread.boards.emulated.initramfs import GUEST, job_initramfs
from foreread.boards.emulated.machines import Machine
from foreread.boards.emulated.packages import unpack
from foreread.boards.emulated.qemu import Boot, Disk, died, qemu_words, run_qemu

SCRIPT = GUEST / "configure.sh"
# Packages that maintainer scripts need not depend on (Debian policy 3.8), without apt.
BASE = (
    *("adduser", "base-files", "base-passwd", "bash", "coreutils", "dash", "debconf"),
    *("debianutils", "diffutils", "dpkg", "findutils", "grep", "gzip", "hostname"),
    *("init-system-helpers", "libc-bin", "login", "mawk", "passwd", "perl-base", "sed"),
    *("sysvinit-utils", "tar", "usr-is-merged", "util-linux"),
)
# The others need these for users and groups, awk, and answers to questions.
_FIRST = ("base-passwd", "mawk", "debconf")
# Its script restarts services, and none runs yet.
_AS_IT_IS = ("libc6",)
_BASE_PRIORITIES = ("required", "important")
_USERS = ("etc/passwd", "etc/group")
_MEMORY_MIB, _FREE_MIB, _RESULT_BYTES, _TIME_OUT_S = 512, 256, 512 << 20, 1800.0


@dataclass(frozen=True)
class Package:
    """An archive, and the fields of its control file."""

    archive: Path
    name: str
    fields: str
    has_script: bool

    @property
    def needs_configuring(self) -> bool:
        """Return whether its script has an effect on a board without a base system."""
        priority = re.search(r"^Priority: (\S+)", self.fields, re.MULTILINE)
        of_base = priority is not None and priority[1] in _BASE_PRIORITIES
        return self.has_script and not of_base and self.name not in _AS_IT_IS

    @property
    def info_name(self) -> str:
        """Return the name of its files in dpkg's database."""
        several = re.search(r"^Multi-Arch: same", self.fields, re.MULTILINE)
        arch = re.search(r"^Architecture: (\S+)", self.fields, re.MULTILINE)
        return f"{self.name}:{arch[1]}" if several and arch else self.name


def read_package(archive: Path) -> Package:
    """Return the package in an archive; raises BoardError."""
    tool, damaged = require_tool("dpkg-deb", "dpkg"), _damaged()
    name = call([tool, "-f", archive, "Package"], damaged).strip()
    fields = call([tool, "-f", archive], damaged)
    with tempfile.TemporaryDirectory(prefix="foreread-build-") as scratch:
        call([tool, "-e", archive, scratch], damaged)
        return Package(archive, name, fields, (Path(scratch) / "postinst").exists())


def configure(
    machine: Machine,
    boot_files: Path,
    base: Sequence[Package],
    packages: Sequence[Package],
    into: Path,
) -> None:
    """Run the scripts of ``packages``, and write ``changed`` (tar), ``failed`` and ``log``.

    ``failed`` has the names of packages with failed scripts, one a line. Raises BoardError if the
    board does not reach its end.
    """
    names = {package.name for package in base}
    new_packages = [package for package in packages if package.name not in names]
    with tempfile.TemporaryDirectory(prefix="foreread-build-") as name:
        scratch = Path(name)
        tree = scratch / "tree"
        tree.mkdir()
        unpack([package.archive for package in (*base, *new_packages)], tree)
        systemd_root.merge_usr(tree)
        _prepare(tree)
        _write_database(tree, base, new_packages)
        image.build_image(tree, "ext4", scratch / "image", _FREE_MIB)
        result = _boot(machine, boot_files, [package.name for package in new_packages], scratch)
    (into / "changed").write_bytes(result["changed"])
    (into / "log").write_bytes(result["log"])
    states = result["states"].decode(errors="replace").splitlines()
    unfinished = [line[3:].strip() for line in states if not line.startswith("ii")]
    (into / "failed").write_text("".join(f"{name}\n" for name in unfinished))


def apply(changed: bytes, tree: Path) -> list[image.Owner]:
    """Apply the changes to an unpacked root; return the files of other owners than root.

    Users and groups that the root already has stay unchanged.
    """
    owners = []
    with tarfile.open(fileobj=io.BytesIO(changed)) as archive:
        for member in archive:
            place = _place(tree, member.name)
            if place is None:
                continue
            _make(archive, member, place)
            if (member.uid, member.gid) != (0, 0):
                path = str(place.relative_to(tree))
                owners.append(image.Owner(path, member.uid, member.gid))
    return owners


def _damaged() -> str:
    return "remove the cached package; it is fetched again"


def _prepare(tree: Path) -> None:
    """Add the files that debootstrap would add: a shell, no services, mount points."""
    for name in ("dev", "proc", "root", "run", "sys", "tmp"):
        (tree / name).mkdir(exist_ok=True)
    shell = tree / "usr/bin/sh"
    if not shell.is_symlink():
        shell.symlink_to("dash")
    deny = tree / "usr/sbin/policy-rc.d"
    deny.write_text("#!/bin/sh\nexit 101\n")
    deny.chmod(0o755)


def _write_database(tree: Path, base: Iterable[Package], new_packages: Iterable[Package]) -> None:
    """Write dpkg's database after it unpacked these packages, with the base installed."""
    place = tree / "var/lib/dpkg"
    for name in ("alternatives", "info", "parts", "triggers", "updates"):
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "info/format").write_text("1\n")
    (place / "available").touch()
    status = [
        _add_to_database(place / "info", package, package.name not in _FIRST) for package in base
    ]
    status += [
        _add_to_database(place / "info", package, installed=False) for package in new_packages
    ]
    (place / "status").write_text("\n".join(status))


def _add_to_database(info: Path, package: Package, installed: bool) -> str:
    """Add a package's files to the database and return its paragraph of the status file."""
    tool, damaged = require_tool("dpkg-deb", "dpkg"), _damaged()
    with tempfile.TemporaryDirectory(prefix="foreread-build-") as name:
        call([tool, "-e", package.archive, name], damaged)
        for file in Path(name).iterdir():
            if file.name not in ("control", "conffiles"):
                kept = info / f"{package.info_name}.{file.name}"
                kept.write_bytes(file.read_bytes())
                kept.chmod(file.stat().st_mode & 0o777)
    listed = call([tool, "-c", package.archive], damaged).splitlines()
    paths = [line.split(maxsplit=5)[5].partition(" -> ")[0].rstrip("/")[1:] for line in listed]
    (info / f"{package.info_name}.list").write_text("".join(f"{path or '/.'}\n" for path in paths))
    state = "installed" if installed else "unpacked"
    return f"{package.fields.rstrip()}\nStatus: install ok {state}\n"


def _boot(
    machine: Machine, boot_files: Path, names: Sequence[str], scratch: Path
) -> dict[str, bytes]:
    """Boot the configuring board; return the members of its result."""
    result, initrd, log = scratch / "result", scratch / "initrd", scratch / "console"
    variables = {"NOW": int(time.time()) + 2, "BASE": " ".join(_FIRST), "PACKAGES": " ".join(names)}
    script = guest_protocol.assignments(variables) + SCRIPT.read_bytes()
    job = job_initramfs({"configure": script})
    initrd.write_bytes((boot_files / "initramfs").read_bytes() + job)
    with result.open("wb") as file:
        file.truncate(_RESULT_BYTES)
    disks = (
        Disk("image", scratch / "image", writable=True),
        Disk("result", result, writable=True),
    )
    append = "quiet panic=-1 rdinit=/bin/sh -- /job/configure"
    start = Boot(boot_files / "kernel", initrd, _MEMORY_MIB, append)
    words = qemu_words(machine, start, disks, machine.icount(sleeps=False))
    run_qemu([*words, "-no-reboot", "-serial", "stdio", "-nic", "none"], log, _TIME_OUT_S)
    archive = guest_protocol.members(result)
    if "end" not in archive:
        raise died(log)
    if "failed" in archive or "changed" not in archive:
        reason = archive.get("failed", b"no result").decode(errors="replace").strip()
        raise BoardError(
            f"the packages cannot be configured: {reason}", "report this with the board"
        )
    return archive


def _place(tree: Path, name: str) -> Path | None:
    """Return the path of a member in the tree; None for a path outside of the tree."""
    relative = Path(name)
    if relative.is_absolute() or ".." in relative.parts:
        return None
    place = tree
    for part in relative.parts[:-1]:
        place = place / part
        if place.is_symlink():
            return None
    return tree / relative


def _make(archive: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if member.isdir():
        place.mkdir(exist_ok=True)
        place.chmod(member.mode)
    elif member.issym():
        if place.is_dir() and not place.is_symlink():
            return
        place.unlink(missing_ok=True)
        place.symlink_to(member.linkname)
    elif member.isfile() and (content := archive.extractfile(member)):
        data = content.read()
        if member.name in _USERS and place.exists():
            data = _with_others(place.read_bytes(), data)
        place.unlink(missing_ok=True)
        place.write_bytes(data)
        place.chmod(member.mode)
    if os.geteuid() == 0 and not member.islnk():
        os.chown(place, member.uid, member.gid, follow_symlinks=False)


def _with_others(present: bytes, added: bytes) -> bytes:
    """Return the present lines of users or groups, and the added lines of other names."""
    names = {line.partition(b":")[0] for line in present.splitlines()}
    new_lines = [line for line in added.splitlines() if line.partition(b":")[0] not in names]
    return b"".join(line + b"\n" for line in (*present.splitlines(), *new_lines))
