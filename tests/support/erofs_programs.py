"""Calls on the files of an EROFS image: executed by a kernel, and emulated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreread.emulator.images.erofs import ErofsImage
from foreread.emulator.images.erofs_kernel import CountingOnErofs, erofs_extents
from foreread.emulator.images.erofs_lookups import ErofsLookups
from foreread.emulator.images.erofs_reads import ErofsReader, Read
from foreread.emulator.images.erofs_rules import erofs_rules
from foreread.emulator.linux.operations import FILE, MAPPING, OPERATION, Machine, Op, Program
from foreread.emulator.linux.requests import Layout, Limits
from foreread.emulator.linux.rules import Version, rules_for
from foreread.emulator.stepwise.replay import Replay

Calls = list[tuple[str, list[tuple[int, int]]]]  # paths, with positions and bytes


def calls_of(image: ErofsImage, chance: np.random.Generator) -> Calls:
    """Return files in random order, each read whole, in a few places, or as a mixture."""
    found: Calls = []
    paths = sorted(path for path, row in image.names.items() if row >= 0)
    for path in chance.permutation(paths).tolist()[:200]:
        size = int(image.files["size"][image.names[path]])
        parts = [(at, 65536) for at in range(0, size, 65536)] if chance.random() < 0.4 else []
        places = chance.integers(0, max(size, 1), 6).tolist()
        lengths = chance.choice([1, 4096, 20_000], 6).tolist()
        some = [(at, min(n, size - at)) for at, n in zip(places, lengths, strict=True) if at < size]
        found.append((path, parts if parts and chance.random() < 0.5 else [*some, *parts]))
    return found


def rows_of(image: ErofsImage, calls: Calls) -> list[int]:
    """Return the image's rows of the files, each once."""
    return list(dict.fromkeys(image.names[path] for path, _ in calls))


def emulated(
    image: ErofsImage,
    calls: Calls,
    version: Version,
    window: int,
    machine: Machine,
    limits: Limits,
    large_folios: bool,
) -> Sequence[Read]:
    """Return the reads of the calls, in their order."""
    rows = rows_of(image, calls)
    place = {row: number for number, row in enumerate(rows)}
    files = np.array([(int(image.files["size"][row]), large_folios, 0, -1) for row in rows], FILE)
    handles = np.array([place[image.names[path]] for path, _ in calls], np.uint32)
    program = Program(np.zeros(0, OPERATION), np.array([], MAPPING), handles, files)
    replay = Replay(program, rules_for(version), window, machine)
    reader = ErofsReader(image, erofs_rules(version))
    layout = Layout(erofs_extents(image, rows))
    replay.kernel = kernel = CountingOnErofs(
        *(replay.kernel.rules, machine, window),
        reader=reader,
        rows=rows,
        layout=layout,
        limits=limits,
    )
    lookups = ErofsLookups(reader)
    lookups.mount()
    for handle, (path, parts) in enumerate(calls):
        call, _ = lookups.look_up(path)
        kernel.reads += call.reads
        for operation in [(Op.OPEN, handle, 0, 0, 0)] + [(Op.READ, handle, 0, *p) for p in parts]:
            for _ in replay.do(*operation):
                pass
    return kernel.reads
