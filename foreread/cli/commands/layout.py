"""``foreread layout``: the order of files for an image, and its block size and compressor."""

from __future__ import annotations

import argparse
import shlex
from contextlib import ExitStack
from pathlib import Path

from analyzer.ingest.load import load
from analyzer.layout.compared import Asked, Compared, compare_layouts
from analyzer.layout.document import LayoutRow
from analyzer.layout.unpacking_file import read_unpacking
from analyzer.layout.write import check_output, write_layout
from boards.counted import plural
from emulator.images.compressors import COMPRESSORS
from emulator.images.relaid import BLOCK_SIZES
from foreread.cli.arguments import UsageError, add_capture
from foreread.cli.main import printable
from foreread.cli.text.table import render
from foreread.documents.layout import LayoutDocument
from foreread.image_of_root import image_of_root
from foreread.unpacking import measure_unpacking

_SHOWN = 12  # rows of the table
_SIZES_KIB = tuple(size >> 10 for size in BLOCK_SIZES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser, nargs="+")
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        required=True,
        help="folder for the sort files and INSTALL.md",
    )
    image = parser.add_mutually_exclusive_group()
    image.add_argument(
        "--image", type=Path, help="image that the board has: predict what the starts read from it"
    )
    image.add_argument(
        "--root",
        metavar="DIR",
        type=Path,
        help="folder that the image is built from; mksquashfs builds a temporary image of it",
    )
    parser.add_argument(
        "--mountpoint",
        metavar="PATH",
        help="where the image was mounted (default: where the start reads most)",
    )
    parser.add_argument(
        "--weights",
        metavar="LIST",
        type=_weights,
        default=(),
        help="how much each capture's start counts, such as 1,3 (default: all the same)",
    )
    _add_layouts(parser)
    _add_costs(parser)


def _add_layouts(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how the image is built")
    sizes = ", ".join(map(str, _SIZES_KIB))
    group.add_argument(
        "--block-size",
        dest="block_sizes",
        metavar="KIB",
        type=int,
        choices=_SIZES_KIB,
        action="append",
        help=f"compare this size of blocks; repeatable (default: {sizes})",
    )
    group.add_argument(
        "--compressor",
        dest="compressors",
        choices=COMPRESSORS,
        action="append",
        help="compare this compressor; repeatable (default: all)",
    )
    group.add_argument(
        "--best",
        action="store_true",
        help="write the options of the best layout into INSTALL.md (default: the order alone)",
    )


def _add_costs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what the board costs")
    group.add_argument(
        "--device-model",
        metavar="FILE",
        help="cost of the disk (see `foreread predict --help`; default: learnt from the capture)",
    )
    unpacking = group.add_mutually_exclusive_group()
    unpacking.add_argument(
        "--target",
        metavar="T",
        help="measure the time to unpack on this target (up to 10 s; root and a loop device "
        "there, mksquashfs here), and write unpacking.json",
    )
    unpacking.add_argument(
        "--unpacking",
        metavar="FILE",
        type=Path,
        help="an unpacking.json of that kind of board (default: the present compressor's time is "
        "learnt from the capture)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the folder, and print what each layout costs."""
    check_output(args.output)
    if args.target and not (args.image or args.root):
        raise UsageError("--target needs an image: add --image IMAGE or --root DIR")
    if args.best and not (args.image or args.root):
        raise UsageError("--best needs an image: add --image IMAGE or --root DIR")
    recordings = [load(capture, args.pids) for capture in args.capture]
    with ExitStack() as stack:
        image = args.image
        if args.root is not None:
            image = stack.enter_context(image_of_root(args.root))
        measured = None
        if args.target:
            wanted = args.compressors or COMPRESSORS
            measured = measure_unpacking(args.target, image, recordings[0], wanted, args.mountpoint)
        elif args.unpacking:
            measured = read_unpacking(args.unpacking)
        asked = Asked(
            block_sizes=[kib << 10 for kib in args.block_sizes or _SIZES_KIB],
            compressors=measured.usable(args.compressors) if measured else args.compressors,
            unpacking=measured.by_compressor if measured else None,
            device=args.device_model,
        )
        found = compare_layouts(
            recordings,
            image,
            weights=args.weights,
            mountpoint=args.mountpoint,
            asked=asked,
        )
    if measured is not None:
        found = found.with_notes(measured.notes)
    best = found.best if args.best else None
    written = write_layout(
        found.order,
        args.output,
        starts=len(found.starts),
        block_size=best.block_size if best else None,
        compressor=best.compressor if best else None,
        measured=measured if args.target else None,
    )
    document = _document(found, written)
    print(document.to_json() if args.json else _text(found, args))
    return 0


def _weights(text: str) -> tuple[float, ...]:
    """Return weights of a list with commas."""
    try:
        found = tuple(float(word) for word in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 < weight <= 1e6 for weight in found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers above 0, such as 1,3")
    return found


def _document(found: Compared, written: list[Path]) -> LayoutDocument:
    best = found.best
    return LayoutDocument(
        files=len(found.order),
        written=tuple(str(path) for path in written),
        rows=found.rows,
        best=None if best is None else found.rows.index(best),
        notes=found.notes,
    )


def _text(found: Compared, args: argparse.Namespace) -> str:
    lines = [
        f"{printable(str(args.output))}: the order of {plural(len(found.order), 'file')} for "
        f"{plural(len(found.starts), 'start')}; INSTALL.md says how to build with it"
    ]
    if found.rows:
        head = ("", "block", "compressor", "image", "requests", "read", "seconds")
        lines += ["", render(head, [_cells(row) for row in _shown(found)], frozenset({0, 2})), ""]
        lines += _best(found, args)
    return "\n".join([*lines, *(f"note: {printable(note)}" for note in found.notes)])


def _shown(found: Compared) -> list[LayoutRow]:
    """Return the present image, the order alone, and the best of the others."""
    first, others = list(found.rows[:2]), list(found.rows[2:])
    others.sort(key=lambda row: (row.seconds is None, row.seconds or 0.0, row.read_bytes))
    return [*first, *others[: _SHOWN - len(first)]]


def _cells(row: LayoutRow) -> tuple[str, ...]:
    seconds = "-" if row.seconds is None else f"{row.seconds:.3f}"
    size = f"{row.block_size >> 10} KiB"
    sizes = (_mib(row.image_bytes), f"{row.requests:,.0f}", _mib(row.read_bytes))
    return (row.name, size, row.compressor, *sizes, seconds)


def _best(found: Compared, args: argparse.Namespace) -> list[str]:
    """Return what the best layout brings, and how to write its options."""
    best, present = found.best, found.rows[0]
    if best is None or best.present:
        return ["the present image is the best of these"]
    kind = f"blocks of {best.block_size >> 10} KiB with {best.compressor}"
    if best.seconds is None or present.seconds is None:
        gain = f"{1 - best.read_bytes / present.read_bytes:.0%} less is read"
    else:
        gain = f"{1 - best.seconds / present.seconds:.0%} less time"
    lines = [f"best: {kind}, in the new order: {gain}"]
    order_alone = (present.block_size, present.compressor)
    if not args.best and (best.block_size, best.compressor) != order_alone:
        source = ("--image", args.image) if args.image else ("--root", args.root)
        words = ["foreread", "layout", *args.capture, *source, "--best", "-o", args.output]
        command = shlex.join(str(word) for word in words)
        lines.append(f"to write its options into INSTALL.md: {printable(command)}")
    return lines


def _mib(octets: float) -> str:
    return f"{octets / (1 << 20):.1f} MiB"
