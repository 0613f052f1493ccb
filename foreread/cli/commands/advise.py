"""``foreread advise``: everything that would make a recorded start faster, ranked."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from analyzer.advise.advise import DOCUMENT, OUTPUT, Source, advise, write_advice
from analyzer.advise.document import AdviceDocument, AdviceRow
from analyzer.advise.images import image_offers
from analyzer.layout.compared import Asked, kind_of, opened
from analyzer.layout.unpacking_file import read_unpacking
from analyzer.predict.linux import PREFIX
from analyzer.suite.advised import advise_suite
from analyzer.suite.predicted import SuiteQuestion
from analyzer.suite.read import is_suite, read_suite
from boards.outputs import check_folder
from foreread.cli.arguments import UsageError, add_capture
from foreread.cli.arguments.model import add_device_model, add_kernel_model
from foreread.cli.arguments.output import add_output
from foreread.cli.arguments.recording import recording_of
from foreread.cli.main import printable
from foreread.cli.text.progress import ProgressLine
from foreread.cli.text.suite import advice_text
from foreread.cli.text.table import plus_minus, render

_COLUMNS = 100  # of output that goes to a file or a pipe
_LEAST_CHANGE = 20  # columns for what a row changes
_TOGETHER = " + "  # between the changes of a combination


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser, nargs="+", suite=True)
    add_kernel_model(parser)
    add_device_model(parser)
    parser.add_argument(
        "--board",
        metavar="PROFILE",
        help="predict for the disk of this board: its name, or the file of its profile",
    )
    parser.add_argument(
        "--root",
        metavar="DIR",
        type=Path,
        help="folder with the board's files, unstripped: their symbols become lists for linkers",
    )
    parser.add_argument(
        "--image",
        type=Path,
        help="squashfs image that the board has: compare its order, block sizes and compressors",
    )
    parser.add_argument(
        "--mountpoint",
        metavar="PATH",
        help="where the image was mounted (default: where the start reads most)",
    )
    parser.add_argument(
        "--unpacking",
        metavar="FILE",
        type=Path,
        help="the board's times to unpack: unpacking.json of `foreread layout --target` (default: "
        "the present compressor alone, learnt from the capture)",
    )
    add_output(
        parser,
        "-o",
        "--output",
        metavar="DIR",
        check=check_folder,
        help=f"folder to write {DOCUMENT} to, and the lists that the table refers to",
    )


def run(args: argparse.Namespace) -> int:
    """Print the table, and write the lists."""
    if args.board is not None and args.device_model is not None:
        raise UsageError("--board and --device-model both name a disk: give one of them")
    if args.root is not None and not args.root.is_dir():
        raise UsageError(f"--root {args.root}: not a folder")
    if any(map(is_suite, args.capture)):
        return _suite(args)
    sources = _sources(args)
    line = ProgressLine()
    try:
        recording, *more = (recording_of(path, args) for path in args.capture)
        found = advise(
            recording,
            more,
            args.board or args.device_model,
            args.model or PREFIX,
            args.root,
            line.step,
            sources,
            output=OUTPUT if args.output is None else args.output,
        )
    finally:
        line.end()
    if args.output is not None:
        found.write(args.output)
    if args.json:
        print(found.document.to_json())
        return 0
    print(_text(found.document))
    if args.output is None and any(row.measure for row in found.document.rows):
        print(f"\nnote: to measure a row, write the table first: add -o {OUTPUT}")
    return 0


def _suite(args: argparse.Namespace) -> int:
    """Print the advice for a suite, and write the tables of its starts."""
    if len(args.capture) > 1:
        raise UsageError("a suite names its captures itself: give the suite alone")
    for name, given in (("--image", args.image), ("--board", args.board)):
        if given is not None:
            raise UsageError(f"{name} is for single starts: remove it")
    for name, given in (("--pid", args.pids != "tree"), ("--page-size", args.page_size)):
        if given:
            raise UsageError(f"{name} is for single captures: remove it")
    asked = SuiteQuestion(args.model, args.device_model)
    folder = OUTPUT if args.output is None else args.output
    line = ProgressLine()
    try:
        found = advise_suite(read_suite(args.capture[0]), asked, args.root, line.step, folder)
    finally:
        line.end()
    if args.output is not None:
        for (board, start), table in found.tables.items():
            write_advice(args.output / board / start, table, found.lists[board, start])
    print(found.document.to_json() if args.json else advice_text(found.document))
    return 0


def _sources(args: argparse.Namespace) -> list[Source]:
    """Return what makes offers besides the capture: an image."""
    if args.image is None:
        for name in ("unpacking", "mountpoint"):
            if getattr(args, name) is not None:
                raise UsageError(f"--{name} is about an image: add --image IMAGE")
        return []
    with opened(args.image) as octets:
        kind_of(octets)  # refused now, not after the replays
    measured = None if args.unpacking is None else read_unpacking(args.unpacking)
    asked = Asked(unpacking=measured.by_compressor if measured else None)
    return [image_offers(args.image, args.mountpoint, asked)]


def _text(found: AdviceDocument) -> str:
    now = (
        f"now: {found.seconds:.3f} s predicted at {found.read_ahead_kb:,} KiB, "
        f"{_size(found.read_bytes)} read"
    )
    parts = [now]
    if found.rows:
        columns = shutil.get_terminal_size((_COLUMNS, 0)).columns
        parts.append(_table(found.rows, columns))
        parts += ["\n".join(_details(rank, row, columns)) for rank, row in enumerate(found.rows, 1)]
    else:
        parts.append("nothing found that saves more than its band")
    parts += [f"doubt: {printable(doubt)}" for doubt in found.doubts]
    parts += [f"note: {printable(note)}" for note in found.notes]
    return "\n\n".join(parts)


def _table(rows: list[AdviceRow], columns: int) -> str:
    """Return the table with its changes cut to the width of the terminal."""
    head = ["", "seconds", "saves", "band", "memory", "image", "flash"]
    cells = [_row(rank, row) for rank, row in enumerate(rows, 1)]
    idle = {i for i, name in enumerate(head) if name in ("image", "flash") and _is_idle(cells, i)}
    shown = [[one for i, one in enumerate(row) if i not in idle] for row in (head, *cells)]
    taken = sum(max(map(len, column)) + 2 for column in zip(*shown, strict=True))
    room = max(columns - taken, _LEAST_CHANGE)
    changes = ["change", *(_cut(printable(row.what), room) for row in rows)]
    first, *others = ([*row, change] for row, change in zip(shown, changes, strict=True))
    return render(first, others)


def _cut(text: str, columns: int) -> str:
    return text if len(text) <= columns else f"{text[: columns - 1].rstrip()}…"


def _is_idle(cells: list[list[str]], column: int) -> bool:
    return {row[column] for row in cells} == {_change(0)}


def _row(rank: int, row: AdviceRow) -> list[str]:
    sizes = (_change(row.memory_bytes), _change(row.image_bytes), _size(row.flash_bytes))
    seconds = (f"{row.seconds:.3f}", f"{row.saved:.3f}", plus_minus(row.band))
    return [str(rank), *seconds, *sizes]


def _details(rank: int, row: AdviceRow, columns: int) -> Iterator[str]:
    """Yield what a row changes, how to try it, and what to beware of; commands are never broken."""
    indent = " " * (len(str(rank)) + 2)

    def words(text: str, first: str = "") -> str:
        return fill(
            printable(text),
            columns,
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


def _size(octets: int) -> str:
    return f"{octets / (1 << 20):.1f} MiB" if octets >= 1 << 20 else f"{-(-octets // 1024)} KiB"


def _change(octets: int) -> str:
    sign = "+" if octets > 0 else "-" if octets < 0 else ""
    return f"{sign}{_size(abs(octets))}"
