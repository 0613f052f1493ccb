"""The windows of a machine's disks and mounts: the kernel's default, else what set them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foreread.analyzer.predict.board_default import SINCE, beside_default
from foreread.emulator.linux.default_window import DefaultWindow, DiskQueue, default_window
from foreread.emulator.linux.rules import KernelError, Version, version_of
from foreread.tracer.doctor.disks import SeenDisk, SeenMount
from foreread.tracer.doctor.examine import Diagnosis
from foreread.tracer.doctor.tunable import Finding

_PAGE_SIZES = (4096, 16384, 65536)  # the kernel rounds a window down to whole pages
# Disks without heads: flash, memory, networks, disks of virtual machines.
_WITHOUT_HEADS = (
    "vd",
    "xvd",
    "nvme",
    "mmcblk",
    "nbd",
    "rbd",
    "pmem",
    "zram",
    "ubiblock",
    "mtdblock",
)
_VIRTUAL_MODELS = ("QEMU", "VBOX", "VIRTUAL", "VMWARE", "PERSISTENTDISK", "MSFT", "VDISK", "VDASD")
_LEAST_FIELD = 1 << 12  # values of a field of blocks: full stripes have fewer, or are even
_LARGEST_IO_OPT = 64 << 20  # bytes; full stripes of large arrays are below it
_LARGEST_KB = 16 << 10
_PREDICT = (
    "foreread record -o CAPTURE -- COMMAND, then foreread predict CAPTURE, name the window to set"
)


def window_findings(diagnosis: Diagnosis, origins: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Return a finding for each disk and mount; ``origins``: what sets a knob (boards.origin)."""
    models = {disk.name: disk.model for disk in diagnosis.disks}
    return [
        *(_finding(diagnosis.kernel, disk, origins, models) for disk in diagnosis.disks),
        *(_of_mount(diagnosis.kernel, mount, origins) for mount in diagnosis.mounts),
    ]


def set_windows(diagnosis: Diagnosis) -> list[str]:
    """Return the knobs of the windows that are not known to be their kernel's default."""
    kernel = diagnosis.kernel
    of_disks = [disk.knob for disk in diagnosis.disks if not _is_default(disk, kernel)]
    of_mounts = [
        mount.knob
        for mount in diagnosis.mounts
        for default in [_default_of_mount(mount, kernel)]
        if default is None or default.read_ahead_kb != mount.read_ahead_kb
    ]
    return [*of_disks, *of_mounts]


def with_windows(findings: Sequence[Finding], windows: Sequence[Finding]) -> list[Finding]:
    """Return all findings, those on disks after those on the stacks of file systems."""
    stacks = [at for at, row in enumerate(findings, 1) if row.name.startswith("window of ")]
    end = max(stacks, default=len(findings))
    return [*findings[:end], *windows, *findings[end:]]


def _finding(
    kernel: str,
    disk: SeenDisk,
    origins: Mapping[str, Sequence[str]],
    models: Mapping[str, str],
) -> Finding:
    name, now = f"window {disk.name}", f"{disk.read_ahead_kb:,} KiB"
    default = _default(disk, kernel)
    wrong, remedy = _wrong(disk, default, models)
    if default is None:
        text = "the kernel's default for this disk is unknown"
    else:
        text = beside_default(version_of(kernel), default, disk.read_ahead_kb)
    if default is None or default.read_ahead_kb != disk.read_ahead_kb:
        text += f": {'; '.join(origins.get(disk.knob, ())) or SINCE}"
    detail = f"{now}, {text}"
    return Finding(name, not wrong, f"{detail}: {wrong}" if wrong else detail, remedy)


def _of_mount(kernel: str, mount: SeenMount, origins: Mapping[str, Sequence[str]]) -> Finding:
    default = _default_of_mount(mount, kernel)
    if default is None:
        text = "the kernel's default for this file system is unknown"
    elif default.read_ahead_kb is None:
        text = f"the kernel's default is not a fixed one ({default.why})"
    else:
        version = version_of(kernel)
        text = beside_default(version, default, mount.read_ahead_kb, "file system")
    if default is None or default.read_ahead_kb != mount.read_ahead_kb:
        text += f": {'; '.join(origins.get(mount.knob, ())) or SINCE}"
    place = f"{mount.file_system} on {mount.mountpoint}"
    return Finding(f"window {mount.name}", True, f"{place}: {mount.read_ahead_kb:,} KiB, {text}")


def _default_of_mount(mount: SeenMount, kernel: str) -> DefaultWindow | None:
    kind = mount.file_system.partition(".")[0]
    try:
        return default_window(version_of(kernel), None, fstype=kind, members=mount.members)
    except KernelError:
        return None


def _is_default(disk: SeenDisk, kernel: str) -> bool:
    default = _default(disk, kernel)
    return default is not None and default.read_ahead_kb == disk.read_ahead_kb


def _default(disk: SeenDisk, kernel: str) -> DefaultWindow | None:
    """Return the default, in whole pages of the size that fits the window; None if unknown."""
    try:
        version: Version = version_of(kernel)
        queue = DiskQueue.from_sysfs(disk.queue)
        defaults = [default_window(version, queue, page_size=size) for size in _PAGE_SIZES]
    except KernelError:
        return None
    fitting = [default for default in defaults if default.read_ahead_kb == disk.read_ahead_kb]
    chosen = (fitting or defaults)[0]
    return None if chosen.read_ahead_kb is None else chosen


def _wrong(
    disk: SeenDisk, default: DefaultWindow | None, models: Mapping[str, str]
) -> tuple[str, str]:
    """Return the fault of a window, and its remedy; both are empty without a fault."""
    queue = DiskQueue.from_sysfs(disk.queue)
    rule = default.why if default and default.read_ahead_kb == disk.read_ahead_kb else ""
    mend = f"{_set(disk, 128)}; {_PREDICT}"
    if disk.read_ahead_kb == 0:
        killed = "foreread doctor --restore, if a recording was killed"
        return "nothing is read ahead", f"{killed}; else {mend}"
    if queue is not None and "optimal_io_size" in rule and _is_false(queue.io_opt):
        return (
            f"optimal_io_size {queue.io_opt} is the largest value of a field, as bridges of USB "
            "disks report it, and not a size that the disk asks for",
            mend,
        )
    if "rotational" in rule and (why := _without_heads(disk, models)):
        return f"{why}, and calls itself rotational", mend
    if disk.read_ahead_kb > _LARGEST_KB:
        return "each stream of reads fills as much memory", mend
    return "", ""


def _set(disk: SeenDisk, kb: int) -> str:
    return f"echo {kb} >{disk.knob}"


def _is_false(io_opt: int) -> bool:
    """Return whether an optimal I/O size is the largest value of a field, not a size of the disk.

    Such are 33553920 (0xffff blocks of 512 bytes) and what the kernel rounds it to (from 6.15 on).
    """
    fields = [io_opt // block + 1 for block in (512, 4096) if io_opt % block == 0]
    full = any(blocks >= _LEAST_FIELD and blocks & (blocks - 1) == 0 for blocks in fields)
    return full or io_opt > _LARGEST_IO_OPT


def _without_heads(disk: SeenDisk, models: Mapping[str, str]) -> str:
    """Return why a disk has no heads; empty if it may have heads."""
    kinds = [_kind(name, models.get(name, "")) for name in disk.lowest]
    if not all(kinds):
        return ""
    of = "" if disk.lowest == [disk.name] else f" ({', '.join(disk.lowest)})"
    return f"the disk{of} is {kinds[0]}"


def _kind(name: str, model: str) -> str:
    """Return the kind of a disk without heads; empty if the disk may have heads."""
    if name.startswith(_WITHOUT_HEADS):
        return "virtual or flash"
    return f"virtual ({model})" if model.upper().startswith(_VIRTUAL_MODELS) else ""
