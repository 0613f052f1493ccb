"""What ``foreread advise`` prints: the table, and a row in full."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

from foreread.analyzer.advise.advise import OUTPUT
from foreread.analyzer.advise.document import AdviceDocument, AdviceRow
from foreread.analyzer.predict.linux import release_of
from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable
from foreread.boards.base.units import percent_text, size_text
from foreread.cli.text.answer import answer_text, columns, cut
from foreread.cli.text.table import plus_minus, render_cut

MORE = "every row in full, and all notes"
_LEAST_CHANGE = 20  # columns for what a row changes
_TOGETHER = " + "  # between the changes of a combination


def table_text(advice: AdviceDocument, *, written: bool, verbose: bool) -> str:
    """Return the table; ``verbose``: and each row in full. ``written``: so are its files."""
    parts = [_table(advice.rows)] if advice.rows else []
    if verbose:
        parts += [row_text(rank, row) for rank, row in enumerate(advice.rows, 1)]
    row = "--row N (a row in full, with -o FILE its file)"
    folder = f"; -o {OUTPUT} (all files, to measure a row)"
    return answer_text(
        list(_answer(advice)),
        parts,
        doubts=advice.doubts,
        notes=advice.notes,
        basis=list(_basis(advice)),
        more=f"{row}{'' if written else folder}; --verbose" if advice.rows else "--verbose",
        verbose=verbose,
    )


def _answer(advice: AdviceDocument) -> Iterator[str]:
    """Yield the start as it is now, and what the best row makes of it."""
    yield (
        f"now: {advice.seconds:.3f} s predicted at {advice.read_ahead_kb:,} KiB, "
        f"{size_text(advice.read_bytes)} read"
    )
    if not advice.rows:
        yield "nothing found that saves more than its band"
        return
    best = advice.rows[0]
    share = percent_text(best.saved / advice.seconds, 0)
    yield cut(f"best: {best.seconds:.3f} s, {share} less, by row 1: {best.what}", columns())


def _basis(advice: AdviceDocument) -> Iterator[str]:
    kernel = f"Linux {release_of(advice.model)}"
    yield f"the start replayed with each change, by the readahead of {kernel}"
    if advice.disk is not None:
        yield f"the disk: {advice.disk}"
    yield f"{plural(advice.tried, 'combination')} of changes tried"


def _table(rows: list[AdviceRow]) -> str:
    """Return the table, without columns of sizes that no row changes."""
    head = ["", "seconds", "saves", "band", "memory", "image", "flash"]
    cells = [_row(rank, row) for rank, row in enumerate(rows, 1)]
    idle = {i for i, name in enumerate(head) if name in ("image", "flash") and _is_idle(cells, i)}
    shown = [[cell for i, cell in enumerate(row) if i not in idle] for row in (head, *cells)]
    changes = ["change", *(row.what for row in rows)]
    first, *others = ([*row, change] for row, change in zip(shown, changes, strict=True))
    return render_cut(first, others, _LEAST_CHANGE)


def _is_idle(cells: list[list[str]], column: int) -> bool:
    return {row[column] for row in cells} == {_change(0)}


def _row(rank: int, row: AdviceRow) -> list[str]:
    sizes = (_change(row.memory_bytes), _change(row.image_bytes), size_text(row.flash_bytes))
    seconds = (f"{row.seconds:.3f}", f"{row.saved:.3f}", plus_minus(row.band))
    return [str(rank), *seconds, *sizes]


def row_text(rank: int, row: AdviceRow) -> str:
    """Return a row in full."""
    return "\n".join(_details(rank, row, columns()))


def _details(rank: int, row: AdviceRow, width: int) -> Iterator[str]:
    """Yield what a row changes, how to try it, and what to beware of; commands are never broken."""
    indent = " " * (len(str(rank)) + 2)

    def words(text: str, first: str = "") -> str:
        return fill(
            printable(text),
            width,
            initial_indent=first or indent,
            subsequent_indent=indent + "  " if not first else indent,
            break_on_hyphens=False,
            break_long_words=False,
        )

    yield words(row.what, f"{rank}. ")
    if row.parts:
        alone = len(row.parts) == row.what.count(_TOGETHER) + 1
        more = "" if alone else ", and what has no row of its own"
        yield words(f"together: {', '.join(map(str, row.parts))}{more}")
    yield from (f"{indent}try: {printable(line)}" for line in row.how)
    if row.measure is not None:
        yield f"{indent}measure: {printable(row.measure)}"
    yield words(f"effort: {row.effort}")
    yield words(f"risk: {row.risk}")


def _change(octets: int) -> str:
    sign = "+" if octets > 0 else "-" if octets < 0 else ""
    return f"{sign}{size_text(abs(octets))}"
