"""``foreread prefetch``: the list of a start-up's reads, to read them in advance."""

from __future__ import annotations

import argparse
from pathlib import Path

from analyzer.ingest.load import load
from analyzer.prefetch import Case, Comparison, Found, compare, write_listing
from analyzer.prefetch.ranges import ORDERS
from boards.counted import plural
from foreread.cli.arguments import add_capture
from foreread.cli.main import printable
from foreread.cli.text.table import render
from foreread.documents.prefetch import PrefetchDocument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser)
    parser.add_argument(
        "-o", "--output", metavar="LIST", type=Path, required=True, help="file to write the list to"
    )
    parser.add_argument(
        "--order",
        choices=ORDERS,
        default=ORDERS[0],
        help="order of the ranges: as the start-up accesses them (default), or by place on the "
        "disk",
    )
    parser.add_argument(
        "--device-model",
        metavar="FILE",
        help="cost of the disk, which decides the predicted seconds and which gaps are worth "
        "reading (see `foreread predict --help`; default: learnt from the capture)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the list, and print its cost and gain."""
    recording = load(args.capture, args.pids)
    compared = compare(recording, args.order, args.device_model)
    write_listing(args.output, compared.found.listing)
    if args.json:
        print(_document(compared, args.output).to_json())
    else:
        print(_text(compared, args.output))
    return 0


def _document(compared: Comparison, output: Path) -> PrefetchDocument:
    found = compared.found
    return PrefetchDocument(
        list=str(output),
        order=found.listing.order,
        ranges=len(found.listing.ranges),
        files=found.listing.files,
        bytes=found.listing.size_bytes,
        needed_bytes=found.needed_bytes,
        wasted_bytes=found.wasted_bytes,
        unnamed_bytes=found.unnamed_bytes,
        gap_bytes=found.gap_bytes,
        cases=compared.cases,
        notes=compared.notes,
    )


def _text(compared: Comparison, output: Path) -> str:
    head = ("", "KiB", "requests", "read", "unused", "seconds")
    table = render(head, [_row(case) for case in compared.cases], frozenset({0}))
    notes = [f"note: {printable(note)}" for note in compared.notes]
    cases = ["", table, ""] if compared.cases else []
    return "\n".join([*_list_text(compared.found, output), *cases, *notes])


def _list_text(found: Found, output: Path) -> list[str]:
    listing = found.listing
    lines = [
        f"list: {printable(str(output))}",
        f"{plural(len(listing.ranges), 'range')} of {plural(listing.files, 'file')}, "
        f"{_mib(listing.size_bytes)}: "
        f"{_mib(found.needed_bytes)} are needed, {_mib(found.wasted_bytes)} are gaps of up to "
        f"{found.gap_bytes >> 10} KiB, which are cheaper to read than to skip",
    ]
    if found.unnamed_bytes:
        lines.append(f"not in the list (files whose path is unknown): {_mib(found.unnamed_bytes)}")
    return lines


def _row(case: Case) -> tuple[str, ...]:
    seconds = "-" if case.seconds is None else f"{case.seconds:.3f}"
    sizes = (_mib(case.read_bytes), _mib(case.wasted_bytes))
    return (case.name, str(case.read_ahead_kb), f"{case.requests:,}", *sizes, seconds)


def _mib(octets: int) -> str:
    return f"{octets / (1 << 20):.1f} MiB"
