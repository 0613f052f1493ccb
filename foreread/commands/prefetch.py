"""``foreread prefetch``: the list of what a start-up reads, to be read ahead of it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from analyzer.device_model import DeviceModelError, learn, read_device_model
from analyzer.ingest.load import load
from analyzer.ingest.recording import Recording
from analyzer.prefetch import Found, encode, find_ranges
from analyzer.prefetch.ranges import DEFAULT_GAP, ORDERS, cheapest_gap
from emulator.device import DeviceModel
from foreread.arguments import add_capture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser)
    parser.add_argument(
        "-o", "--output", metavar="LIST", type=Path, required=True, help="file for the list"
    )
    parser.add_argument(
        "--order",
        choices=ORDERS,
        default=ORDERS[0],
        help="as the start accesses the ranges (default), or as they lie on the disk",
    )
    parser.add_argument(
        "--device-model",
        metavar="FILE",
        help="cost of the disk, which says what gaps are worth reading over, and seconds (see "
        "`predict`; default: learnt from the capture)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the list, and say what it costs and gains."""
    recording = load(args.capture, args.pids)
    device = _device(recording, args.device_model)
    gap = DEFAULT_GAP if device is None else cheapest_gap(device, recording.page_size)
    found = find_ranges(recording, args.order, gap)
    args.output.write_bytes(encode(found.listing))
    if args.json:
        print(json.dumps(_document(found, args.output)))
    else:
        print(_text(found, args.output))
    return 0


def _device(recording: Recording, given: str | None) -> DeviceModel | None:
    """Return the disk's cost, if it is given or can be learnt."""
    if given is not None:
        return read_device_model(given)
    try:
        return learn(recording.requests)
    except DeviceModelError:
        return None


def _document(found: Found, output: Path) -> dict[str, object]:
    return {
        "schema": 1,
        "list": str(output),
        "order": found.listing.order,
        "ranges": len(found.listing.ranges),
        "files": found.listing.files,
        "bytes": found.listing.size_bytes,
        "needed_bytes": found.needed_bytes,
        "wasted_bytes": found.wasted_bytes,
        "unnamed_bytes": found.unnamed_bytes,
        "gap_bytes": found.gap_bytes,
    }


def _text(found: Found, output: Path) -> str:
    listing = found.listing
    lines = [
        f"list: {output}",
        f"{len(listing.ranges):,} ranges of {listing.files:,} files, {_mib(listing.size_bytes)}: "
        f"{_mib(found.needed_bytes)} are needed, {_mib(found.wasted_bytes)} are gaps of up to "
        f"{found.gap_bytes >> 10} KiB, which cost less to read than to leave out",
    ]
    if found.unnamed_bytes:
        lines.append(f"left out, of files without a known path: {_mib(found.unnamed_bytes)}")
    return "\n".join(lines)


def _mib(octets: int) -> str:
    return f"{octets / (1 << 20):.1f} MiB"
