"""The kernels that the page offers, and what of the emulation's input depends on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.inputs import Inputs, large_folios_by_dev, own_io_pages_of
from foreread.emulator.linux.rules import CHANGES, NEWEST_READ, Version, rules_for, version_text

_OLDEST = CHANGES[0].since
_LAST_OF_SERIES = {2: 39, 3: 19, 4: 20, 5: 19, 6: 19, 7: NEWEST_READ[1]}


@dataclass(frozen=True)
class Kernels:
    """``options`` are (name, row of ``kinds``), newest first; ``recorded`` is a row, too.

    Each of ``kinds`` has the rules, whether files of each of the classes are in large folios, and
    the largest request of a backing device of their own by disk, or None. ``classes`` (u1) are
    those of the files.
    """

    options: list[tuple[str, int]]
    kinds: list[dict[str, list[int | None]]]
    recorded: int
    classes: Array


def kernels_of(program_inputs: Inputs, version: Version) -> Kernels:
    """Return the kernels from which on the start may be emulated."""
    versions = [version, *_versions()]
    by_dev = [large_folios_by_dev(program_inputs.recording, kernel) for kernel in versions]
    devs, file_dev = np.unique(program_inputs.recording.files["dev"], return_inverse=True)
    flags = [tuple(int(large.get(dev, False)) for large in by_dev) for dev in devs.tolist()]
    classes = sorted(set(flags))
    rows: dict[tuple[tuple[int | None, ...], ...], int] = {}

    def row_of(number: int) -> int:
        kernel = versions[number]
        io_pages = tuple(
            own_io_pages_of(program_inputs.recording, kernel, program_inputs.disk_of_file == disk)
            for disk in range(len(program_inputs.disks))
        )
        rules = tuple(rules_for(kernel).numbers())
        kind = (rules, tuple(each[number] for each in classes), io_pages)
        return rows.setdefault(kind, len(rows))

    recorded = row_of(0)
    options = [
        (version_text(kernel), row_of(number)) for number, kernel in enumerate(versions) if number
    ]
    kinds = [
        {"rules": list(rules), "large_folios": list(large), "io_pages": list(io_pages)}
        for rules, large, io_pages in rows
    ]
    of_dev = np.array([classes.index(each) for each in flags], np.uint8)
    return Kernels(options, kinds, recorded, of_dev[file_dev])


def _versions() -> Iterator[Version]:
    """Yield each known series, the newest first."""
    for major, last in sorted(_LAST_OF_SERIES.items(), reverse=True):
        for minor in range(last, -1, -1):
            version = (2, 6, minor) if major == 2 else (major, minor)
            if version >= _OLDEST:
                yield version
