"""How the kernel of a recorded start reads squashfs: the unit of its reads, and its fragments.

Both are options of the kernel's configuration (fs/squashfs/Kconfig). The unit is also in what
stat(2) shows of a mounted squashfs, and in the recorded reads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Rwbs
from foreread.boards.base.units import KIB
from foreread.emulator.images.squashfs_rules import (
    DEVICE_BLOCK,
    FRAGMENTS_KEPT,
    SquashfsRules,
    squashfs_rules,
)
from foreread.emulator.linux.requests import SECTOR
from foreread.emulator.linux.rules import Version
from foreread.tracer.formats.capture import Mount, dev_of

_LARGE = 4096  # bytes: the unit with CONFIG_SQUASHFS_4K_DEVBLK_SIZE
_LARGE_OPTION, _FRAGMENTS = "CONFIG_SQUASHFS_4K_DEVBLK_SIZE", "CONFIG_SQUASHFS_FRAGMENT_CACHE_SIZE"
_UNITS = (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
_ENOUGH_READS = 8  # of 1 KiB units one in four begins at 4 KiB, by chance: 8 are less than 1 in 10⁴


@dataclass(frozen=True)
class KernelOfImage:
    """The rules of a kernel for squashfs; ``doubts`` say what is assumed."""

    rules: SquashfsRules
    doubts: tuple[str, ...] = ()


def kernel_of_image(
    recording: Recording,
    version: Version,
    mount: Mount | None,
    disk: int,
    config: frozenset[str] | None = None,
) -> KernelOfImage:
    """Return how the kernel of a recording reads squashfs.

    ``mount`` is that of the recorded image, None if the start did not run on squashfs; ``disk``
    (dev_t) has its files. ``config`` are options that are set in the kernel's configuration.
    """
    host = recording.capture.host
    options = host.kernel_options if host else {}
    kept = options.get(_FRAGMENTS, "")
    unit = _unit(recording, mount, disk, options.get(_LARGE_OPTION, ""), config)
    doubts = []
    if unit is None:
        doubts.append(
            f"nothing shows whether the kernel sets {_LARGE_OPTION}: reads of squashfs in units of "
            f"{DEVICE_BLOCK // KIB} KiB are assumed. Give the kernel's configuration with "
            "--kernel-config FILE"
        )
    is_known = kept.isdecimal() and 0 < int(kept[:4]) <= 1000
    if not is_known:
        doubts.append(
            f"the capture does not contain the kernel's {_FRAGMENTS}: a cache of "
            f"{FRAGMENTS_KEPT} fragments is assumed"
        )
    rules = squashfs_rules(
        version,
        page_size=recording.page_size,
        device_block=max(unit or DEVICE_BLOCK, _logical_block(recording, disk)),
        fragments_kept=int(kept) if is_known else FRAGMENTS_KEPT,
    )
    return KernelOfImage(rules, tuple(doubts))


def _unit(
    recording: Recording,
    mount: Mount | None,
    disk: int,
    large: str,
    config: frozenset[str] | None,
) -> int | None:
    """Return the bytes of a device block; None if nothing shows them."""
    if mount is not None and mount.squashfs and mount.squashfs.device_block_bytes in _UNITS:
        return mount.squashfs.device_block_bytes
    if not large and config is not None:
        large = "y" if _LARGE_OPTION in config else "n"
    if large:
        return _LARGE if large == "y" else DEVICE_BLOCK
    return None if mount is None else _recorded_unit(recording, disk, mount.first_sector)


def _logical_block(recording: Recording, disk: int) -> int:
    """Return the disk's logical block, below which no unit is (sb_min_blocksize); 0 if unknown."""
    devices = recording.capture.devices
    queues = [device.queue for device in devices if dev_of(device.dev) == disk]
    text = queues[0].get("logical_block_size", "") if queues else ""
    return int(text) if text in map(str, _UNITS) else 0


def _recorded_unit(recording: Recording, disk: int, first_sector: int) -> int | None:
    """Return the unit that the recorded reads of a squashfs show."""
    requests = recording.requests
    read = (requests["dev"] == disk) & ((requests["flags"] & Rwbs.READ) > 0)
    begins = requests["sector"][read].astype(np.int64) - first_sector
    ends = begins + requests["sectors"][read].astype(np.int64)
    within = begins >= 0
    off = (begins[within] | ends[within]) % (_LARGE // SECTOR)
    if off.any():
        return DEVICE_BLOCK
    return _LARGE if len(off) >= _ENOUGH_READS else None
