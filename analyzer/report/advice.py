"""The report's section of advice: everything that would make the start faster, ranked."""

from __future__ import annotations

from foreread.analyzer.advise.document import AdviceDocument, AdviceRow
from foreread.analyzer.report.blocks import Block, Bullets, Code, Column, Paragraph, Section, Table
from foreread.analyzer.report.wording import band, seconds
from foreread.boards.base.printable import printable
from foreread.boards.base.units import kib_text, size_text

_MOST_WORDS = 12  # rows whose commands are shown


def advice(document: AdviceDocument | None) -> Section:
    """Return the section; it is empty where no advice could be given."""
    section = Section("advice", "What else would help")
    if document is None:
        return section
    window = kib_text(document.read_ahead_kb)
    now = f"Now the start takes {seconds(document.seconds)} with {window} (predicted)."
    if not document.rows:
        section.blocks.append(
            Paragraph(f"{now} Nothing was found that saves more than the band of its saving.")
        )
    else:
        section.blocks.append(
            Paragraph(
                f"{now} Each row is the replay of the recorded start with that change made, and "
                "saves more than its band."
            )
        )
        section.blocks.extend([_table(document.rows), *_commands(document.rows)])
    if document.notes:
        section.blocks.append(Bullets([printable(note) for note in document.notes]))
    return section


def _table(rows: list[AdviceRow]) -> Table:
    columns = [
        Column(""),
        Column("change", "left", share=5),
        Column("seconds"),
        Column("saves"),
        Column("band"),
        Column("memory"),
        Column("flash"),
        Column("effort", "left", share=2),
    ]
    return Table(
        columns,
        [_row(rank, row) for rank, row in enumerate(rows, 1)],
        "Memory is what the start reads more or less than now; flash is what is written to the "
        "board once.",
        frozenset({0}),
    )


def _row(rank: int, row: AdviceRow) -> list[str]:
    more = row.memory_bytes
    memory = f"{'+' if more > 0 else '−' if more < 0 else ''}{size_text(abs(more))}"
    return [
        str(rank),
        printable(row.what),
        seconds(row.seconds),
        seconds(row.saved),
        band(row.band),
        memory,
        size_text(row.flash_bytes),
        row.effort,
    ]


def _commands(rows: list[AdviceRow]) -> list[Block]:
    lines = []
    for rank, row in enumerate(rows[:_MOST_WORDS], 1):
        lines += [f"# {rank}: {printable(row.risk)}", *(printable(line) for line in row.how)]
    return [Paragraph("To try them, with the risk of each:"), Code(lines)]
