"""``foreread layout``: the order of files for an image, and its block size and compressor."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.layout.compared import Compared, LayoutQuestion, compare_layouts
from foreread.analyzer.layout.document import LayoutRow
from foreread.analyzer.layout.opened_image import kind_of, opened
from foreread.analyzer.layout.support import read_kernel_config
from foreread.analyzer.layout.unpacking_file import Measured, read_unpacking
from foreread.analyzer.layout.write import ErofsWords, write_layout
from foreread.boards.base.counted import plural
from foreread.boards.base.outputs import check_folder
from foreread.boards.base.units import KIB, size_text
from foreread.cli.arguments import UsageError
from foreread.cli.arguments.capture import add_capture
from foreread.cli.arguments.model import add_device_model, add_mountpoint
from foreread.cli.arguments.output import add_output
from foreread.cli.arguments.recording import recording_of
from foreread.cli.arguments.verbose import add_verbose
from foreread.cli.text.answer import answer_text
from foreread.cli.text.table import render, seconds_cell
from foreread.documents.layout import LayoutDocument
from foreread.emulator.images.compressors import COMPRESSORS
from foreread.emulator.images.relaid import BLOCK_SIZES
from foreread.images.layouts import (
    CLUSTER_SIZES,
    EROFS_COMPRESSORS,
    ErofsOptions,
    compare_others,
)
from foreread.images.root_image import image_of_root
from foreread.images.unpacking import measure_unpacking

_SHOWN = 12  # rows of the table
_MORE = "every layout, and all notes"
_SIZES_KIB = tuple(size // KIB for size in BLOCK_SIZES)
_ALL_SIZES_KIB = (4, 8, *_SIZES_KIB)
_ALL_COMPRESSORS = tuple(dict.fromkeys((*COMPRESSORS, *EROFS_COMPRESSORS)))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser, nargs="+")
    add_output(
        parser,
        "-o",
        "--output",
        metavar="DIR",
        check=check_folder,
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
    add_mountpoint(parser)
    parser.add_argument(
        "--weights",
        metavar="LIST",
        type=_weights,
        default=(),
        help="weight of each capture's start, such as 1,3 (default: 1 each)",
    )
    _add_layouts(parser)
    _add_costs(parser)
    add_verbose(parser, _MORE)


def _add_layouts(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how the image is built")
    sizes = ", ".join(map(str, _SIZES_KIB))
    clusters = ", ".join(str(size // KIB) for size in CLUSTER_SIZES)
    group.add_argument(
        "--block-size",
        dest="block_sizes",
        metavar="KIB",
        type=int,
        choices=_ALL_SIZES_KIB,
        action="append",
        help=f"compare this block size (EROFS: cluster size); repeatable (default: {sizes}; EROFS: "
        f"{clusters})",
    )
    group.add_argument(
        "--compressor",
        dest="compressors",
        choices=_ALL_COMPRESSORS,
        action="append",
        help="compare this compressor (EROFS: also none); repeatable (default: all that the "
        "builder has; EROFS: none, lz4 and zstd)",
    )
    group.add_argument(
        "--table",
        action="store_true",
        help="compare each block size and compressor in the builder's order, too, and print all "
        "(ext4: no effect)",
    )
    group.add_argument(
        "--best",
        action="store_true",
        help="write the options of the best layout into INSTALL.md (default: the order alone)",
    )


def _add_costs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what the board costs")
    add_device_model(group)
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
        help="unpacking.json of a like board (default: the present compressor's time is learnt "
        "from the capture)",
    )
    group.add_argument(
        "--kernel-config",
        metavar="FILE",
        type=Path,
        help="configuration of the board's kernel (.config, or /proc/config.gz of the board): "
        "compressors that it lacks are not compared",
    )


def run(args: argparse.Namespace) -> int:
    """Write the folder, and print what each layout costs."""
    if args.target and not (args.image or args.root):
        raise UsageError("--target needs an image: add --image IMAGE or --root DIR")
    if args.best and not (args.image or args.root):
        raise UsageError("--best needs an image: add --image IMAGE or --root DIR")
    if args.table and not (args.image or args.root):
        raise UsageError("--table needs an image: add --image IMAGE or --root DIR")
    recordings = [recording_of(capture, args) for capture in args.capture]
    with ExitStack() as stack:
        image = args.image
        if args.root is not None:
            image = stack.enter_context(image_of_root(args.root))
        kind = "" if image is None else _kind(image)
        if image is not None and kind != "squashfs":
            compared, measured = _compared_others(args, recordings, image)
        else:
            compared, measured = _compared(args, recordings, image)
    best = compared.best if args.best else None
    erofs = best if kind == "EROFS" else None
    squashfs = best if kind == "squashfs" else None
    written = write_layout(
        compared.order,
        args.output,
        starts=len(compared.starts),
        block_size=squashfs.block_size if squashfs else None,
        compressor=squashfs.compressor if squashfs else None,
        fragmented=compared.fragmented,
        measured=measured if args.target else None,
        erofs=ErofsWords(erofs.compressor, erofs.block_size) if erofs else None,
        doubt=compared.best_doubt if best else None,
    )
    document = _document(compared, written)
    print(document.to_json() if args.json else _text(compared, args))
    return 0


def _kind(image: Path) -> str:
    with opened(image) as octets:
        return kind_of(octets)


def _compared(
    args: argparse.Namespace, recordings: Sequence[Recording], image: Path | None
) -> tuple[Compared, Measured | None]:
    """Return the layouts of an image of squashfs compared, or the order alone."""
    compressors = [
        compressor for compressor in COMPRESSORS if compressor in (args.compressors or COMPRESSORS)
    ]
    others = sorted({*(args.compressors or ())} - {*COMPRESSORS})
    sizes = [kib for kib in args.block_sizes or _SIZES_KIB if kib not in _SIZES_KIB]
    if image is not None and (others or sizes):
        what = [*others, *(f"blocks of {kib} KiB" for kib in sizes)]
        raise UsageError(f"squashfs has no {' and no '.join(what)}: leave them out")
    wanted = compressors if args.compressors else None
    measured = None
    if args.target and image is not None:
        every = wanted or COMPRESSORS
        measured = measure_unpacking(args.target, image, recordings[0], every, args.mountpoint)
    elif args.unpacking:
        measured = read_unpacking(args.unpacking)
    options = LayoutQuestion(
        block_sizes=[kib << 10 for kib in args.block_sizes or _SIZES_KIB],
        compressors=measured.usable(wanted) if measured else wanted,
        unpacking=measured.by_compressor if measured else None,
        device=args.device_model,
        refused=measured.document.missing if measured else (),
        config=_config(args),
        orders=_orders(args),
    )
    compared = compare_layouts(
        recordings, image, weights=args.weights, mountpoint=args.mountpoint, asked=options
    )
    return compared.with_notes(measured.notes if measured else ()), measured


def _compared_others(
    args: argparse.Namespace, recordings: Sequence[Recording], image: Path
) -> tuple[Compared, Measured | None]:
    """Return the layouts of an image of EROFS compared, or the order of one of ext4."""
    others = sorted({*(args.compressors or ())} - {*EROFS_COMPRESSORS})
    if others:
        raise UsageError(f"EROFS has no {' and no '.join(others)}: leave them out")
    usual = ErofsOptions()
    options = ErofsOptions(
        compressors=args.compressors or usual.compressors,
        cluster_sizes=[kib << 10 for kib in args.block_sizes or ()] or usual.cluster_sizes,
        measured=read_unpacking(args.unpacking) if args.unpacking else None,
        target=args.target,
        device=args.device_model,
        named=bool(args.compressors),
        config=_config(args),
        orders=_orders(args),
    )
    return compare_others(recordings, image, args.weights, args.mountpoint, options)


def _config(args: argparse.Namespace) -> frozenset[str] | None:
    return None if args.kernel_config is None else read_kernel_config(args.kernel_config)


def _orders(args: argparse.Namespace) -> tuple[bool, ...]:
    return (False, True) if args.table else (True,)


def _weights(text: str) -> tuple[float, ...]:
    """Return weights of a list with commas."""
    try:
        weights = tuple(float(word) for word in text.split(","))
    except ValueError:
        weights = ()
    if not weights or not all(0 < weight <= 1e6 for weight in weights):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers above 0, such as 1,3")
    return weights


def _document(compared: Compared, written: list[Path]) -> LayoutDocument:
    best = compared.best
    return LayoutDocument(
        files=len(compared.order),
        written=tuple(str(path) for path in written),
        rows=compared.rows,
        best=None if best is None else compared.rows.index(best),
        notes=compared.notes,
    )


def _text(compared: Compared, args: argparse.Namespace) -> str:
    order = (
        f"{args.output}: the order of {plural(len(compared.order), 'file')} for "
        f"{plural(len(compared.starts), 'start')}; INSTALL.md says how to build with it"
    )
    head = ("", "block", "compressor", "image", "requests", "read", "seconds")
    cells = [_cells(row) for row in _shown(compared, args)]
    return answer_text(
        [*(_best(compared, args) if compared.rows else []), order],
        [render(head, cells, frozenset({0, 2}))] if compared.rows else [],
        notes=compared.notes,
        more=f"--verbose ({_MORE})",
        verbose=args.verbose,
    )


def _shown(compared: Compared, args: argparse.Namespace) -> list[LayoutRow]:
    """Return the present image, the order alone, and the best of the others, or all of them."""
    if args.table:
        return list(compared.rows)
    first, others = list(compared.rows[:2]), list(compared.rows[2:])
    others.sort(key=lambda row: (row.seconds is None, row.seconds or 0.0, row.read_bytes))
    return [*first, *(others if args.verbose else others[: _SHOWN - len(first)])]


def _cells(row: LayoutRow) -> tuple[str, ...]:
    size = f"{row.block_size // KIB} KiB"
    sizes = (size_text(row.image_bytes), f"{row.requests:,.0f}", size_text(row.read_bytes))
    return (row.name, size, row.compressor, *sizes, seconds_cell(row.seconds))


def _best(compared: Compared, args: argparse.Namespace) -> list[str]:
    """Return what the best layout brings, and how to write its options."""
    best, present = compared.best, compared.rows[0]
    if best is None or best.present:
        return ["the present image is the best of these"]
    kind = f"blocks of {best.block_size // KIB} KiB with {best.compressor}"
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
        lines.append(f"  to write its options into INSTALL.md: {command}")
    return lines
