"""Tables of the reference, as Markdown, from the data that the program itself uses.

``python -m docs.tools.lists NAME`` prints one of them; the site has them by its directive.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from docs.tools.boot_script import lengths
from foreread.analyzer.fleet.rows import COLUMNS
from foreread.analyzer.ingest.tables import ACCESSES, EVENTS, FILES, REQUESTS, Kind, Rwbs, Schema
from foreread.analyzer.predict.basis import LACKS, Answer
from foreread.analyzer.predict.tables import COMPARED, LOADS, RUNS, WINDOWS
from foreread.boards.knobs import Knob, knobs
from studies.accuracy.kernel_tables import kept_tables

_ANSWERS = {
    Answer.NONE: "*none*",
    Answer.SECONDS: "*set*, *keep* by seconds",
    Answer.CRITERION: "*set*, *keep* by F² + G²",
}
_WHOLE = (
    ("a capture", "`foreread record`, at window 0", "yes", "yes", "yes"),
    (
        "a trace of another tool",
        "recorded at window 0, with `block:block_bio_queue`; losses are counted",
        "yes",
        "with `--model linux-X.Y`, and `--device-model FILE` unless its requests show the disk",
        "yes",
    ),
    ("requests alone", "`blktrace`", "refused", "refused", "refused"),
)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    names = list(head)
    return [_row(names), _row(["---"] * len(names)), *map(_row, rows), ""]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def inputs() -> list[str]:
    """Return the verdicts that each kind of input supports."""
    lacking = ((f"without {lack.name}", lack.example, *_supported(lack.withheld)) for lack in LACKS)
    return _table(("input", "for example", *_ANSWERS.values()), (*_WHOLE, *lacking))


def _supported(withheld: Iterable[Answer]) -> list[str]:
    return ["no" if answer in withheld else "yes" for answer in _ANSWERS]


def settings() -> list[str]:
    """Return every knob that foreread writes, with its values and their source."""
    rows = ((f"`{k.path}`", _values(k, False), _values(k, True), k.source) for k in knobs())
    return _table(("knob", "may be set", "may be put back", "source"), rows)


def _values(knob: Knob, put_back: bool) -> str:
    if knob.word:
        return "a word"
    if knob.choices:
        return "one of them"
    least, most = knob.range(put_back)
    share = f", at most 1/{knob.memory_share} of the memory" if knob.memory_share else ""
    return f"{least} to {most}{share}" if least <= most else "–"


def tables() -> list[str]:
    """Return the columns of the tables in Python."""
    schemas = (EVENTS, ACCESSES, REQUESTS, FILES, WINDOWS, LOADS, RUNS, COMPARED)
    kinds = ", ".join(f"{kind.value} {kind.name}" for kind in Kind)
    flags = ", ".join(f"{flag.value} {flag.name}" for flag in Rwbs)
    columns = [line for schema in schemas for line in _columns(schema)]
    return [*columns, f"**Kind**: {kinds}", "", f"**Rwbs**: {flags}", ""]


def _columns(schema: Schema) -> list[str]:
    rows = ((c.name, c.dtype, c.unit, c.meaning.replace("|", "\\|")) for c in schema.columns)
    return [f"**{schema.name}**", "", *_table(("column", "dtype", "unit", "meaning"), rows)]


def store() -> list[str]:
    """Return the columns of the store of ``foreread fleet analyse``."""
    rows = [(f"`{column.name}`", column.kind, column.meaning) for column in COLUMNS]
    return _table(
        ("column", "type", "meaning"), [*rows, ("`board`, `start`", "VARCHAR", "the partition")]
    )


LISTS: dict[str, Callable[[], list[str]]] = {
    "boot-scripts": lengths,
    "compared": lambda: kept_tables()["compared"],
    "inputs": inputs,
    "judged": lambda: kept_tables()["judged"],
    "kernels": lambda: kept_tables()["kernels"],
    "settings": settings,
    "store": store,
    "tables": tables,
}

if __name__ == "__main__":
    print("\n".join(LISTS[sys.argv[1]]()))
