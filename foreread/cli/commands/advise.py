"""``foreread advise``: everything that would make a recorded start faster, ranked."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from foreread.analyzer.advise.advise import DOCUMENT, OUTPUT, Source, advise, write_advice
from foreread.analyzer.advise.document import AdviceDocument, AdviceRow
from foreread.analyzer.advise.images import image_offers
from foreread.analyzer.advise.parts import NamedStart, on_parts
from foreread.analyzer.advise.situation import AdviceError
from foreread.analyzer.layout.compared import LayoutQuestion
from foreread.analyzer.layout.opened_image import kind_of, opened
from foreread.analyzer.layout.unpacking_file import read_unpacking
from foreread.analyzer.predict.disk.parts import library, parts_named
from foreread.analyzer.predict.linux import PREFIX
from foreread.analyzer.suite import is_suite
from foreread.analyzer.suite.advised import advise_suite
from foreread.analyzer.suite.captures import starts_of_suite
from foreread.analyzer.suite.predicted import SuiteQuestion
from foreread.analyzer.suite.read import read_suite
from foreread.boards.base.counted import plural
from foreread.boards.base.outputs import check_file, check_folder
from foreread.boards.base.written import write_whole
from foreread.cli.arguments import UsageError, duration, refuse, row_number
from foreread.cli.arguments.capture import add_capture
from foreread.cli.arguments.load import add_load, loads_of
from foreread.cli.arguments.model import add_device_model, add_kernel_model, add_mountpoint
from foreread.cli.arguments.output import add_check
from foreread.cli.arguments.recording import recording_of
from foreread.cli.arguments.verbose import add_verbose
from foreread.cli.text.advice import MORE, row_text, table_text
from foreread.cli.text.parts import parts_text
from foreread.cli.text.progress import ProgressLine
from foreread.cli.text.suite import advice_text
from foreread.question import Question

_FOR_SINGLE_STARTS = "this is for single starts, not for a suite"


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
    _add_parts(parser)
    parser.add_argument(
        "--root",
        metavar="DIR",
        type=Path,
        help="folder with the board's files, unstripped: their symbols become lists for linkers",
    )
    parser.add_argument(
        "--source",
        metavar="FILE",
        type=Path,
        help="source file of the application (C, C++ or Python) that opens or maps its files: "
        "advice for single files gets a patch of it",
    )
    parser.add_argument(
        "--image",
        type=Path,
        help="squashfs image that the board has: compare its order, block sizes and compressors",
    )
    add_mountpoint(parser)
    add_load(parser)
    parser.add_argument(
        "--unpacking",
        metavar="FILE",
        type=Path,
        help="the board's times to unpack: unpacking.json of `foreread layout --target` (default: "
        "the present compressor alone, learnt from the capture)",
    )
    parser.add_argument(
        "--row",
        type=row_number,
        metavar="N",
        help="print row N of the table in full; with -o FILE write its file: the prefetch list, "
        "the order for the linker, or C source with the ranges to read",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR|FILE",
        type=Path,
        help=f"folder to write {DOCUMENT} to, and all files that the table refers to",
    )
    add_check(parser, "output", _check_output)
    add_verbose(parser, MORE)


def _add_parts(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("a buyer's table")
    group.add_argument(
        "--boards",
        metavar="PART,…",
        nargs="?",
        const="",
        help="print each start on these storage parts instead, and what the best window is worth "
        "there: kinds of disk, board profiles, files of foreread calibrate (default: every part "
        "that comes with foreread); --board and --device-model add one",
    )
    group.add_argument(
        "--within",
        metavar="SECONDS",
        type=duration,
        help="name the slowest part on which every start stays within this time",
    )


def _check_output(args: argparse.Namespace) -> None:
    check = check_folder if args.row is None else check_file
    check(args.output)


def run(args: argparse.Namespace) -> int:
    """Print the table or a row, and write the lists."""
    if args.board is not None and args.device_model is not None:
        raise UsageError("--board and --device-model both name a disk: give one of them")
    if args.root is not None and not args.root.is_dir():
        raise UsageError(f"--root {args.root}: not a folder")
    if args.source is not None:
        from foreread.analyzer.advise.access_patch import text_of  # noqa: PLC0415  (few give one)

        text_of(args.source)
    if args.boards is not None:
        return _on_parts(args)
    if args.within is not None:
        raise UsageError("--within is about storage parts: add --boards")
    if any(map(is_suite, args.capture)):
        return _suite(args)
    sources = _sources(args)
    line = ProgressLine()
    try:
        recording, *more = (recording_of(path, args) for path in args.capture)
        question = _question(args)
        advice = advise(
            recording,
            more,
            question.device_model,
            args.model or PREFIX,
            args.root,
            line.step,
            sources,
            question.predicted(recording, more=more) if question.loads else None,
            output=OUTPUT if args.output is None or args.row is not None else args.output,
            source=args.source,
        )
    finally:
        line.end()
    document = advice.document
    if args.row is not None:
        return _row_alone(args, document, advice.lists)
    if args.output is not None:
        advice.write(args.output)
    if args.json:
        print(document.to_json())
    else:
        print(table_text(document, written=args.output is not None, verbose=args.verbose))
    return 0


def _on_parts(args: argparse.Namespace) -> int:
    """Print the starts on storage parts."""
    own = {"-o": args.output, "--row": args.row, "--root": args.root, "--source": args.source}
    own |= {"--image": args.image, "--unpacking": args.unpacking, "--mountpoint": args.mountpoint}
    own |= {"--load": args.loads, "--weigh": args.weigh}
    refuse(own, "--boards compares storage parts, by windows alone")
    names = args.boards.split(",") if args.boards else [part.name for part in library()]
    further = [name for name in (args.board, args.device_model) if name is not None]
    parts = parts_named([*names, *further])
    line = ProgressLine()
    try:
        starts = _starts(args)
        document = on_parts(starts, parts, args.model or PREFIX, args.within, line.step)
    finally:
        line.end()
    print(document.to_json() if args.json else parts_text(document, verbose=args.verbose))
    return 0


def _starts(args: argparse.Namespace) -> list[NamedStart]:
    """Return a start for each capture, or those of a suite."""
    if not any(map(is_suite, args.capture)):
        return [NamedStart(str(path), [recording_of(path, args)]) for path in args.capture]
    _check_suite(args)
    return starts_of_suite(read_suite(args.capture[0]))


def _question(args: argparse.Namespace) -> Question:
    """Return how the captures are predicted."""
    return Question(
        pids=args.pids,
        model=args.model or PREFIX,
        device_model=args.board or args.device_model,
        **loads_of(args),
    )


def _row_alone(
    args: argparse.Namespace, document: AdviceDocument, lists: Mapping[str, bytes]
) -> int:
    """Print a row in full, and write its file."""
    rank = args.row
    if rank > len(document.rows):
        raise AdviceError(
            f"there is no row {rank}: the table has {plural(len(document.rows), 'row')}",
            "foreread advise without --row prints it",
        )
    row = document.rows[rank - 1]
    if args.output is not None:
        write_whole(args.output, _file_of(rank, row, lists))
    print(document.to_json() if args.json else row_text(rank, row))
    return 0


def _file_of(rank: int, row: AdviceRow, lists: Mapping[str, bytes]) -> bytes:
    """Return the content of a row's file."""
    if not row.lists:
        raise AdviceError(f"row {rank} needs no file: {row.what}", f"type: {row.how[0]}")
    if len(row.lists) > 1:
        raise AdviceError(
            f"row {rank} has several files: {', '.join(row.lists)}",
            "write all into a folder: -o DIR without --row",
        )
    return lists[row.lists[0]]


def _check_suite(args: argparse.Namespace) -> None:
    if len(args.capture) > 1:
        raise UsageError("a suite names its captures itself: give the suite alone")
    refuse({"--pid": args.pids != "tree", "--page-size": args.page_size}, _FOR_SINGLE_STARTS)


def _suite(args: argparse.Namespace) -> int:
    """Print the advice for a suite, and write the tables of its starts."""
    _check_suite(args)
    own = {"--image": args.image, "--source": args.source, "--board": args.board, "--row": args.row}
    refuse(own | {"--load": args.loads, "--weigh": args.weigh}, _FOR_SINGLE_STARTS)
    question = SuiteQuestion(args.model, args.device_model)
    folder = OUTPUT if args.output is None else args.output
    line = ProgressLine()
    try:
        advised = advise_suite(read_suite(args.capture[0]), question, args.root, line.step, folder)
    finally:
        line.end()
    if args.output is not None:
        for (board, start), table in advised.tables.items():
            write_advice(args.output / board / start, table, advised.lists[board, start])
    document = advised.document
    print(document.to_json() if args.json else advice_text(document, verbose=args.verbose))
    return 0


def _sources(args: argparse.Namespace) -> list[Source]:
    """Return the sources of offers other than the capture: an image."""
    if args.image is None:
        for name in ("unpacking", "mountpoint"):
            if getattr(args, name) is not None:
                raise UsageError(f"--{name} is about an image: add --image IMAGE")
        return []
    with opened(args.image) as octets:
        kind_of(octets)  # refused now, not after the replays
    measured = None if args.unpacking is None else read_unpacking(args.unpacking)
    options = LayoutQuestion(unpacking=measured.by_compressor if measured else None)
    return [image_offers(args.image, args.mountpoint, options)]
