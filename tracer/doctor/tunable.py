"""What tuning, fingerprints and calibration need of a machine, here or on a target."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from foreread.boards.mounts import MountPoint
from foreread.tracer.memory import meminfo

BIOS = "block:block_bio_queue"
# The programs that a scenario's load and a watch run (remote/load.sh, measure.sh, watch.sh).
PROGRAMS = ("awk", "cat", "dd", "head", "mkfifo", "sed", "tr", "yes")


@dataclass(frozen=True)
class Finding:
    """One finding: whether it is as needed, and otherwise the remedy."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


@dataclass(frozen=True)
class Seen:
    """The facts examined.

    ``schedulers``: the content of each disk's writable scheduler file. ``bios``: whether the
    event BIOS exists. ``accounting``: whether the kernel counts the bytes that processes read.
    ``lacking``: names in PROGRAMS, and fio, that are not installed.
    """

    meminfo: str
    mounts: Sequence[MountPoint]
    schedulers: Mapping[str, str]
    bios: bool
    accounting: bool
    lacking: Collection[str]


def tuning_findings(seen: Seen) -> list[Finding]:
    """Return a finding for each requirement of a part of ``tune`` and similar commands."""
    return [
        _schedulers(seen.schedulers),
        _swap(seen.meminfo),
        _writer(seen.mounts),
        _programs([name for name in PROGRAMS if name in seen.lacking]),
        _finding(
            "tune others' reads",
            seen.accounting,
            (
                "recognised: a disturbed start is repeated",
                "not distinguished from the command's own",
            ),
            "a kernel with CONFIG_TASK_IO_ACCOUNTING",
        ),
        _finding(
            "fingerprint",
            seen.bios,
            (f"event {BIOS}", f"no event {BIOS}, or it cannot be read"),
            "as root, with tracefs mounted, on a kernel with CONFIG_BLK_DEV_IO_TRACE",
        ),
        _finding(
            "calibrate",
            "fio" not in seen.lacking,
            ("fio is installed", "fio, which measures disks, is not installed"),
            "install fio, or write a device model by hand",
        ),
    ]


def _finding(name: str, ok: bool, details: tuple[str, str], remedy: str) -> Finding:
    """Return a finding with the first detail if it is ok, else the second and the remedy."""
    return Finding(name, True, details[0]) if ok else Finding(name, False, details[1], remedy)


def _schedulers(offered: Mapping[str, str]) -> Finding:
    names = {name.strip("[]"): None for text in offered.values() for name in text.split()}
    return _finding(
        "tune schedulers",
        len(names) > 1,
        (" ".join(names), "none can be chosen"),
        "as root; modprobe mq-deadline, kyber-iosched and bfq, or a kernel with CONFIG_IOSCHED_BFQ",
    )


def _swap(text: str) -> Finding:
    kib = meminfo(text).get("SwapTotal", 0)
    return _finding(
        "tune --scenario memory",
        kib > 0,
        (f"{kib} KiB of swap", "there is no swap"),
        "add some with mkswap and swapon, or choose another scenario",
    )


def _writer(mounts: Sequence[MountPoint]) -> Finding:
    places = [
        mount.mountpoint
        for mount in mounts
        if mount.source.startswith("/dev/")
        and all("rw" in options.split(",") for options in (mount.options, mount.super_options))
    ]
    return _finding(
        "tune --scenario writer",
        bool(places),
        (f"can write to {places[0] if places else ''}", "no disk is mounted to be written to"),
        "remount one: mount -o remount,rw; or choose another scenario",
    )


def _programs(lacking: Sequence[str]) -> Finding:
    return _finding(
        "tune scenarios",
        not lacking,
        ("all programs that loads need", f"missing programs of loads: {' '.join(lacking)}"),
        "build its busybox with them, or add their folder to its PATH",
    )
