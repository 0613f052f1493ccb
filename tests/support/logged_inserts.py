"""What the core logs of each folio that it inserts, beside what the plain Python says of it."""

from __future__ import annotations

from foreread.emulator.linux.operations import Outcome
from foreread.emulator.linux.windows import Emulation

Logged = list[tuple[int, int, int, int, int]]


def logged(core: Emulation, window: int) -> Logged:
    """Return (file, index, order, run, cause) of each insert of the core."""
    inserts = core.inserts(window)
    return inserts[["file", "index", "order", "run", "cause"]].tolist()


def expected_log(plain: Outcome) -> Logged:
    """Return the same of the plain Python."""
    pairs = zip(plain.inserts, plain.causes, strict=True)
    return [(*insert, int(cause)) for insert, cause in pairs]
