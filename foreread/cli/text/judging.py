"""What ``foreread doctor --judge`` prints of a judgement."""

from __future__ import annotations

from collections.abc import Iterator

from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable
from foreread.judging.judge import Judgement


def judgement_text(of: Judgement) -> str:
    """Return the text of a judgement."""
    return "\n".join(printable(line) for line in _lines(of))


def _lines(of: Judgement) -> Iterator[str]:
    kernel = of.kernel
    where = f"{kernel.file_system} on {of.disk} ({of.mountpoint})"
    windows = ", ".join(map(str, kernel.windows_kb))
    yield f"kernel: Linux {kernel.release} {kernel.machine}, {kernel.version}"
    yield f"judged: {kernel.programs} programs on {where}, windows {windows} KiB"
    if of.confirmed:
        yield f"pages: all {plural(of.folios, 'folio')} as emulated, in the same order"
        yield from _requests(of)
    else:
        yield f"first difference: {kernel.difference}"
    if of.repeated:
        runs = plural(of.repeated, "run")
        yield f"note: {runs} agreed only with longer pauses, because the disk is slow"
    yield f"not judged: {'; '.join(of.unjudged)}"
    yield f"stored in {of.stored}; duration: {of.seconds:.0f} s"
    if of.confirmed:
        yield "confirmed on this kernel: predictions for it no longer doubt the readahead model"
    else:
        yield (
            "not confirmed: on this kernel the window is found by measuring: foreread sweep -o "
            "SWEEP -- COMMAND"
        )


def _requests(of: Judgement) -> Iterator[str]:
    if not of.kernel.requests_compared:
        return
    merged = f"; the disk's queue merged {of.merged} of them" if of.merged else ""
    yield f"requests: all {plural(of.requests, 'request')} as emulated{merged}"
    if of.uncompared:
        runs = plural(of.uncompared, "run")
        yield f"note: the requests of {runs} may exceed the disk's segments and were not compared"
