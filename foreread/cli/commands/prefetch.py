"""``foreread prefetch``: the list of a start-up's reads, to read them in advance."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from foreread.analyzer.advise.situation import situation_of
from foreread.analyzer.advise.stale import Checked, StaleFile, StalenessDocument, staleness
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.analyzer.prefetch import Case, Comparison, Found, compare
from foreread.analyzer.prefetch.formats import FORMATS, WHOLE_FILES, Written, written
from foreread.analyzer.prefetch.listing import decode, read_listing
from foreread.analyzer.prefetch.ranges import ORDERS
from foreread.analyzer.prefetch.state import SUFFIX, read_state, state_of
from foreread.boards.base.counted import plural
from foreread.boards.base.outputs import check_file
from foreread.boards.base.units import percent_text, size_text
from foreread.boards.base.written import write_whole
from foreread.cli.arguments import UsageError, percent
from foreread.cli.arguments.capture import add_capture
from foreread.cli.arguments.model import add_device_model
from foreread.cli.arguments.output import add_check
from foreread.cli.arguments.recording import recording_of
from foreread.cli.arguments.verbose import add_verbose
from foreread.cli.text.answer import answer_text
from foreread.cli.text.table import render, seconds_cell
from foreread.documents.prefetch import PrefetchDocument

_MOST_FILES = 12
_MORE = "all files of a list that is checked, and all notes"
_LAST = frozenset({4})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser)
    add_verbose(parser, _MORE)
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("-o", "--output", metavar="LIST", type=Path, help="file to write the list to")
    add_check(parser, "output", _check_output)
    goal.add_argument(
        "--check",
        metavar="LIST",
        type=Path,
        help="compare a list with the build below --root: exit code 1 if it has lost more than "
        "--limit",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default=FORMATS[0],
        help="program that reads the list: foreread-prefetch (default), Android's libprefetch, "
        "rsinit, nydus-image, an eStargz converter or soci; the last three read whole files",
    )
    parser.add_argument(
        "--only",
        metavar="PATH",
        action="append",
        default=[],
        help="list only this file, or the files below this folder; repeatable",
    )
    parser.add_argument(
        "--root",
        metavar="DIR",
        type=Path,
        help="folder with the files of the build; with -o their state is kept in "
        f"LIST{SUFFIX}, for a later --check",
    )
    parser.add_argument(
        "--limit",
        metavar="PERCENT",
        type=percent,
        default=10.0,
        help="per cent of its gain that a checked list may have lost (default: 10)",
    )
    parser.add_argument(
        "--order",
        choices=ORDERS,
        default=ORDERS[0],
        help="order of the ranges: as the start-up accesses them (default), or by place on the "
        "disk",
    )
    add_device_model(parser)


def run(args: argparse.Namespace) -> int:
    """Write the list, and print its cost and gain."""
    if args.root is not None and not args.root.is_dir():
        raise UsageError(f"--root {args.root}: not a folder")
    if args.check is not None:
        return _check(args)
    recording = recording_of(args.capture, args)
    compared = compare(recording, args.order, args.device_model, only=args.only)
    text = written(recording, compared.found, args.format)
    state = None
    if args.root is not None:
        state = state_of(args.root, compared.found.listing, recording.page_size)
    write_whole(args.output, text.content)
    if state is not None:
        write_whole(_state_file(args.output), f"{state.to_json()}\n".encode())
    if args.json:
        print(_document(compared, args, text).to_json())
    else:
        print(_text(compared, args, text))
    return 0


def _check_output(args: argparse.Namespace) -> None:
    check_file(args.output)
    if args.root is not None:
        check_file(_state_file(args.output))


def _state_file(path: Path) -> Path:
    return path.with_name(path.name + SUFFIX)


def _check(args: argparse.Namespace) -> int:
    """Compare a list with a build, and print what it loses."""
    if args.root is None:
        raise UsageError("--check needs the build to compare with: add --root DIR")
    listing = decode(read_listing(args.check))
    checked = Checked(args.check, listing, read_state(_state_file(args.check)))
    recording = recording_of(args.capture, args)
    situation = situation_of([recording], device_from(args.device_model))
    document = staleness(situation, checked, args.root, args.limit)
    print(document.to_json() if args.json else _stale_text(document, args.verbose))
    return 0 if document.passed else 1


def _stale_text(document: StalenessDocument, verbose: bool) -> str:
    answer = [
        f"the list has lost {document.lost_percent:.0f} % of its gain; the limit is "
        f"{document.limit_percent:g} %",
    ]
    if not document.passed:
        answer.append("record the start on this build, and make the list again:")
        answer.append(
            "  foreread record -o CAPTURE -- COMMAND && foreread prefetch CAPTURE -o LIST"
        )
    basis = [
        f"list: {document.list}",
        f"{document.pages - document.stale_pages - document.unknown_pages:,} of "
        f"{plural(document.pages, 'listed page')} are as they were, {document.stale_pages:,} are "
        f"not, {document.unknown_pages:,} could not be compared",
    ]
    basis.append(
        f"predicted: {document.without:.3f} s without the list, {document.fresh:.3f} s with it on "
        f"its own build, {document.stale:.3f} s on this one"
    )
    table = []
    if document.files:
        shown = document.files if verbose else document.files[:_MOST_FILES]
        head = ("moved", "changed", "missing", "as it was", "file")
        more = len(document.files) - len(shown)
        others = f"\nand {plural(more, 'other file')}" if more > 0 else ""
        table.append(render(head, [_stale_row(file) for file in shown], _LAST) + others)
    return answer_text(
        answer,
        table,
        notes=document.notes,
        basis=basis,
        more=f"--verbose ({_MORE})",
        verbose=verbose,
    )


def _stale_row(file: StaleFile) -> tuple[str, ...]:
    numbers = (file.moved, file.changed, file.missing, file.same)
    return (*(f"{number:,}" for number in numbers), file.path)


def _document(compared: Comparison, args: argparse.Namespace, text: Written) -> PrefetchDocument:
    listed = compared.found
    return PrefetchDocument(
        list=str(args.output),
        format=args.format,
        left_out=text.left_out,
        state=str(_state_file(args.output)) if args.root is not None else None,
        order=listed.listing.order,
        ranges=len(listed.listing.ranges),
        files=listed.listing.files,
        bytes=listed.listing.size_bytes,
        needed_bytes=listed.needed_bytes,
        wasted_bytes=listed.wasted_bytes,
        unnamed_bytes=listed.unnamed_bytes,
        gap_bytes=listed.gap_bytes,
        cases=compared.cases,
        notes=compared.notes,
    )


def _text(compared: Comparison, args: argparse.Namespace, text: Written) -> str:
    head = ("", "KiB", "requests", "read", "unused", "seconds")
    table = render(head, [_row(case) for case in compared.cases], frozenset({0}))
    return answer_text(
        [*_gain(compared), *_list_text(compared.found, args.output), *_as(args, text)],
        [table] if compared.cases else [],
        notes=compared.notes,
        more="foreread script CAPTURE --prefetch LIST -o DIR (replays it at boot); --verbose",
        verbose=args.verbose,
    )


def _gain(compared: Comparison) -> Iterator[str]:
    """Yield the saving of the best case with the list."""
    timed = [case for case in compared.cases if case.seconds is not None]
    if not timed:
        return
    now, best = timed[0], min(timed, key=lambda case: case.seconds or 0.0)
    if now is best or now.seconds is None or best.seconds is None:
        yield f"nothing is predicted to be faster than the start as it is: {now.seconds:.3f} s"
        return
    share = percent_text(1 - best.seconds / now.seconds, 0)
    yield (
        f"{best.name}: {best.seconds:.3f} s predicted at {best.read_ahead_kb:,} KiB, {share} "
        f"less than now, {now.seconds:.3f} s at {now.read_ahead_kb:,} KiB"
    )


def _as(args: argparse.Namespace, text: Written) -> Iterator[str]:
    """Yield the effects of the format, and the file of the state."""
    if args.format in WHOLE_FILES:
        yield f"{args.format}: a list of whole files, in the order of their first access"
    if text.left_out:
        names = ", ".join(text.left_out[:3])
        yield (
            f"left out, since the format {args.format} cannot name "
            f"{plural(len(text.left_out), 'file')}: {names}"
        )
    if args.root is not None:
        yield f"state of the listed pages: {_state_file(args.output)}"


def _list_text(listed: Found, output: Path) -> list[str]:
    listing = listed.listing
    lines = [
        f"list: {output}",
        f"{plural(len(listing.ranges), 'range')} of {plural(listing.files, 'file')}, "
        f"{size_text(listing.size_bytes)}: "
        f"{size_text(listed.needed_bytes)} are needed, {size_text(listed.wasted_bytes)} are gaps "
        f"of up to {size_text(listed.gap_bytes)}, which are cheaper to read than to skip",
    ]
    if listed.unnamed_bytes:
        lines.append(
            f"not in the list (files whose path is unknown): {size_text(listed.unnamed_bytes)}"
        )
    return lines


def _row(case: Case) -> tuple[str, ...]:
    sizes = (size_text(case.read_bytes), size_text(case.wasted_bytes))
    counts = (case.name, str(case.read_ahead_kb), f"{case.requests:,}")
    return (*counts, *sizes, seconds_cell(case.seconds))
