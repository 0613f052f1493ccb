"""Images of a distribution's root for emulated boards.

    python -m studies.distribution.image ROOT -o IMAGE [--sort FILE] [--script DIR]

ROOT is a folder that mmdebstrap made (README.md); it gets what a board needs besides. The image is
of squashfs, whose files are in the order of a sort file if one is given. DIR is what `foreread
script` wrote: it is installed in the image as its INSTALL.md says; without, the root has none.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from foreread.boards.emulated.live_root import GUEST, add_program

MEASURED = "foreread.measured"  # on the kernel command line: the board prints its marks and ends
SAID = "board: boot"  # how that line begins
_OWN = "usr/lib/board"
_PROGRAMS = ("console", "dropbear", "network", "save")
_UNITS = ("board-console", "board-network", "board-ssh")
_ETC = "etc/systemd/system"
_WANTED = f"{_ETC}/multi-user.target.wants"
_APPLETS = ("ifconfig",)  # that the board's programs use, and the packages of a root lack
ZSTD_LEVEL = "3"  # the builder's own, 15, takes a quarter of an hour here
# What `foreread script` wrote: places in the root, and whether they are programs.
_APPLIED = {
    "foreread-apply": ("usr/sbin/foreread-apply", 0o755),
    "foreread-prefetch": ("usr/sbin/foreread-prefetch", 0o755),
    "foreread-prefetch.list": ("etc/foreread-prefetch.list", 0o644),
    "systemd/foreread.service": (f"{_ETC}/foreread.service", 0o644),
    "systemd/foreread-boot-done.service": (f"{_ETC}/foreread-boot-done.service", 0o644),
}
_ENABLED = {"foreread": f"{_ETC}/sysinit.target.wants", "foreread-boot-done": _WANTED}
# Marks of begin and end of a boot, as in studies/boot.
_CLOCK = "/sys/module/slowdisk/parameters/now_ns"
_MARK = f"""\
#!/bin/sh
read -r now <{_CLOCK}
read -r requests _ sectors _ </sys/block/slow0/stat
echo "$now $requests $sectors" >/run/mark-$1
[ "$1" = end ] || exit 0
read -r words </proc/cmdline
case " $words " in *" {MEASURED} "*) ;; *) exit 0 ;; esac
read -r first </run/mark-begin
read -r window </sys/block/slow0/queue/read_ahead_kb
echo "{SAID} $first $now $requests $sectors $window" >/dev/console
echo o >/proc/sysrq-trigger
"""
# As the hook of `foreread record --boot`, and before the boot script.
_BEGIN = """\
[Unit]
DefaultDependencies=no
After=systemd-remount-fs.service sys-kernel-tracing.mount sys-kernel-debug.mount
Before=local-fs-pre.target sysinit.target systemd-udevd.service systemd-udev-trigger.service
Before=systemd-modules-load.service systemd-tmpfiles-setup-dev.service foreread.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/lib/board/mark begin
"""
_END = """\
[Unit]
After=multi-user.target

[Service]
Type=oneshot
ExecStart=/usr/lib/board/mark end
"""


def prepare(root: Path) -> None:
    """Add to a root what an emulated board needs, and the marks of its boot."""
    for name in _PROGRAMS:
        add_program(root / _OWN / name, f"{name}.sh")
    mark = root / _OWN / "mark"
    mark.write_text(_MARK)
    mark.chmod(0o755)
    for name in _UNITS:
        text = (GUEST / "systemd" / f"{name}.service").read_text()
        _add_unit(root, name, text, _WANTED)
    _add_unit(root, "mark-begin", _BEGIN, f"{_ETC}/sysinit.target.wants")
    _add_unit(root, "mark-end", _END, _WANTED)
    _link(root / "etc/systemd/system/default.target", "/usr/lib/systemd/system/multi-user.target")
    _link(root / "root/.ssh", "/run/board/ssh")
    for name in _APPLETS:
        _link(root / "usr/local/sbin" / name, "/bin/busybox")
    (root / "etc/machine-id").write_text("")
    (root / "etc/fstab").write_text("")


def apply(root: Path, script: Path | None) -> None:
    """Install in a root the files that `foreread script` wrote into a folder, and no others.

    None removes the installed files.
    """
    for name, (place, mode) in _APPLIED.items():
        (root / place).unlink(missing_ok=True)
        if script is not None and (script / name).exists():
            shutil.copyfile(script / name, root / place)
            (root / place).chmod(mode)
    for unit, wants in _ENABLED.items():
        (root / wants / f"{unit}.service").unlink(missing_ok=True)
        if (root / _ETC / f"{unit}.service").exists():
            _link(root / wants / f"{unit}.service", f"/{_ETC}/{unit}.service")


def _add_unit(root: Path, name: str, text: str, wants: str) -> None:
    (root / wants).mkdir(parents=True, exist_ok=True)
    (root / _ETC / f"{name}.service").write_text(text)
    _link(root / wants / f"{name}.service", f"/{_ETC}/{name}.service")


def _link(place: Path, target: str) -> None:
    if place.is_dir() and not place.is_symlink():
        place.rmdir()
    place.unlink(missing_ok=True)
    place.symlink_to(target)


def build(root: Path, image: Path, words: Sequence[str]) -> None:
    """Build the image of a root with mksquashfs; ``words`` are more of its options."""
    image.unlink(missing_ok=True)
    command = ["mksquashfs", str(root), str(image), "-noappend", "-quiet", "-no-progress"]
    subprocess.run([*command, *words], check=True)


def options(compressor: str, block: str, sort: Path | None) -> list[str]:
    """Return the words of mksquashfs for a compressor, a block size and an order."""
    level = ["-Xcompression-level", ZSTD_LEVEL] if compressor == "zstd" else []
    order = ["-sort", str(sort)] if sort is not None else []
    return ["-comp", compressor, "-b", block, *level, *order]


def main(words: Sequence[str] | None = None) -> int:
    """Prepare a root, and build its image."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="IMAGE")
    parser.add_argument("--compressor", default="zstd")
    parser.add_argument("--block", default="128K")
    parser.add_argument("--sort", type=Path, metavar="FILE")
    parser.add_argument("--script", type=Path, metavar="DIR")
    args = parser.parse_args(words)
    prepare(args.root)
    apply(args.root, args.script)
    build(args.root, args.output, options(args.compressor, args.block, args.sort))
    return 0


if __name__ == "__main__":
    sys.exit(main())
