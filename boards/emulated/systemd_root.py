"""Changes of a live board's root for systemd: units, and the files that postinst would make."""

from __future__ import annotations

import shutil
from pathlib import Path

from foreread.boards.emulated.image import MERGED

_UNITS = Path(__file__).parent / "guest" / "systemd"
_ETC = "etc/systemd/system"
_WANTED = f"{_ETC}/multi-user.target.wants"


def merge_usr(tree: Path) -> None:
    """Move the packages' files outside /usr into it, as in an installed system of this release."""
    for name in MERGED:
        beside = tree / name
        if beside.is_dir() and not beside.is_symlink():
            shutil.copytree(beside, tree / "usr" / name, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(beside)
            beside.symlink_to(f"usr/{name}")


def add_systemd_files(tree: Path) -> None:
    """Add the board's units, and make every boot the same."""
    (tree / _WANTED).mkdir(parents=True)
    for unit in sorted(_UNITS.iterdir()):
        shutil.copyfile(unit, tree / _ETC / unit.name)
        (tree / _WANTED / unit.name).symlink_to(f"/{_ETC}/{unit.name}")
    (tree / _ETC / "default.target").symlink_to("/usr/lib/systemd/system/multi-user.target")
    # Without a D-Bus, logind's ttys do not work either.
    (tree / _ETC / "getty.target").symlink_to("/dev/null")
    # busybox's shell would run its own reboot instead of systemd's.
    (tree / "bin/sh").unlink()
    (tree / "bin/sh").symlink_to("dash")
    # Empty: each board gets a new id without a "first boot", which would enable every unit.
    (tree / "etc/machine-id").touch()
    # Without udev no tty is ever ready for the getty that systemd starts by itself.
    generators = tree / "etc/systemd/system-generators"
    generators.mkdir()
    (generators / "systemd-getty-generator").symlink_to("/dev/null")
    hook = tree / "usr/lib/systemd/system-shutdown/board-save"
    hook.parent.mkdir(exist_ok=True)
    hook.symlink_to("/usr/lib/board/save")
