"""Configures packages as apt would: their maintainer scripts run on a board, at image build.

A board has no dpkg: Debian's base system would take most of its memory, in which its disk is. So
the packages are configured beside the base system on a board of the same architecture, booted for
that alone, and what their scripts changed goes into the image: users, links of alternatives,
generated configuration. Neither this machine's root nor its CPU is needed for that.
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

from boards.emulated import guest_protocol, image, systemd_root
from boards.emulated.error import BoardError, call, require_tool
from boards.emulated.initramfs import GUEST, job_initramfs
from boards.emulated.machines import Machine
from boards.emulated.packages import unpack
from boards.emulated.qemu import Boot, Disk, died, qemu_words, run_qemu

SCRIPT = GUEST / "configure.sh"
# What maintainer scripts may use without saying so (Debian policy 3.8), without apt.
BASE = (
    *("adduser", "base-files", "base-passwd", "bash", "coreutils", "dash", "debconf"),
    *("debianutils", "diffutils", "dpkg", "findutils", "grep", "gzip", "hostname"),
    *("init-system-helpers", "libc-bin", "login", "mawk", "passwd", "perl-base", "sed"),
    *("sysvinit-utils", "tar", "usr-is-merged", "util-linux"),
)
# Of these the others need users and groups, awk, and answers to questions.
_FIRST = ("base-passwd", "mawk", "debconf")
# Its script restarts services, of which none runs yet.
_AS_IT_IS = ("libc6",)
_BASE_PRIORITIES = ("required", "important")
_USERS = ("etc/passwd", "etc/group")
_MEMORY_MIB, _FREE_MIB, _RESULT_BYTES, _TIME_OUT_S = 512, 256, 512 << 20, 1800.0


@dataclass(frozen=True)
class Package:
    """An archive, and what its control file says of it."""

    archive: Path
    name: str
    fields: str
    has_script: bool

    @property
    def needs_configuring(self) -> bool:
        """Return whether its script does anything for a board that has no base system."""
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
    """Return what an archive says of itself; raises BoardError."""
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

    ``failed`` names a package whose script failed on each line. Raises BoardError if the board
    does not come to its end.
    """
    names = {one.name for one in base}
    wanted = [one for one in packages if one.name not in names]
    with tempfile.TemporaryDirectory(prefix="foreread-build-") as name:
        scratch = Path(name)
        tree = scratch / "tree"
        tree.mkdir()
        unpack([one.archive for one in (*base, *wanted)], tree)
        systemd_root.merge_usr(tree)
        _prepare(tree)
        _write_database(tree, base, wanted)
        image.build_image(tree, "ext4", scratch / "image", _FREE_MIB)
        found = _boot(machine, boot_files, [one.name for one in wanted], scratch)
    (into / "changed").write_bytes(found["changed"])
    (into / "log").write_bytes(found["log"])
    states = found["states"].decode(errors="replace").splitlines()
    unfinished = [line[3:].strip() for line in states if not line.startswith("ii")]
    (into / "failed").write_text("".join(f"{one}\n" for one in unfinished))


def apply(changed: bytes, tree: Path) -> list[image.Owner]:
    """Make the changes in an unpacked root; return the files that are not root's.

    Users and groups that the root has by now stay as they are.
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
    """Add what debootstrap would: a shell, no services, mount points."""
    for name in ("dev", "proc", "root", "run", "sys", "tmp"):
        (tree / name).mkdir(exist_ok=True)
    shell = tree / "usr/bin/sh"
    if not shell.is_symlink():
        shell.symlink_to("dash")
    deny = tree / "usr/sbin/policy-rc.d"
    deny.write_text("#!/bin/sh\nexit 101\n")
    deny.chmod(0o755)


def _write_database(tree: Path, base: Iterable[Package], wanted: Iterable[Package]) -> None:
    """Write what dpkg would know after it unpacked these packages, with the base installed."""
    place = tree / "var/lib/dpkg"
    for name in ("alternatives", "info", "parts", "triggers", "updates"):
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "info/format").write_text("1\n")
    (place / "available").touch()
    status = [_known(place / "info", one, one.name not in _FIRST) for one in base]
    status += [_known(place / "info", one, installed=False) for one in wanted]
    (place / "status").write_text("\n".join(status))


def _known(info: Path, package: Package, installed: bool) -> str:
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
    """Boot the board that configures; return the members of its result."""
    result, initrd, log = scratch / "result", scratch / "initrd", scratch / "console"
    given = {"NOW": int(time.time()) + 2, "BASE": " ".join(_FIRST), "PACKAGES": " ".join(names)}
    script = guest_protocol.assignments(given) + SCRIPT.read_bytes()
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
    found = guest_protocol.members(result)
    if "end" not in found:
        raise died(log)
    if "failed" in found or "changed" not in found:
        said = found.get("failed", b"no result").decode(errors="replace").strip()
        raise BoardError(f"the packages cannot be configured: {said}", "report this with the board")
    return found


def _place(tree: Path, name: str) -> Path | None:
    """Return where a member goes; None for what would lie outside of the tree."""
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
    """Return the lines of users or groups that are present, and those of other names."""
    names = {line.partition(b":")[0] for line in present.splitlines()}
    others = [line for line in added.splitlines() if line.partition(b":")[0] not in names]
    return b"".join(line + b"\n" for line in (*present.splitlines(), *others))
