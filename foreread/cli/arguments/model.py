"""Arguments that choose what predicts a capture: the model, the disk's cost, the criterion."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from foreread.analyzer.predict.criterion import PUBLISHED, SECONDS
from foreread.cli.arguments.load import loads_of

if TYPE_CHECKING:
    from foreread.question import Question


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the choice of a model, and the cost of the disk."""
    parser.add_argument(
        "--model",
        metavar="MODEL",
        type=_model,
        help="linux: readahead of the capture's kernel, with seconds (default for captures "
        "made at read_ahead_kb=0); linux-X.Y: readahead of another kernel; fixed: the 2010 "
        "paper's model, where each miss reads a whole window (default for other captures)",
    )
    add_device_model(parser)


def add_kernel_model(parser: argparse.ArgumentParser) -> None:
    """Add the choice of the kernel that is emulated."""
    parser.add_argument(
        "--model",
        metavar="linux-X.Y",
        type=_kernel_model,
        help="readahead of another kernel (default: readahead of the capture's kernel)",
    )


def add_other_kernel(parser: argparse.ArgumentParser) -> None:
    """Add the kernel, or the patch of a kernel, that starts are forecast for."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument(
        "--model",
        metavar="linux-X.Y",
        type=_other_kernel,
        help="the other kernel: newer or older than the capture's kernel",
    )
    group.add_argument(
        "--rules",
        metavar="FILE",
        type=Path,
        help="a patch of a kernel: its version, and the rules of readahead that change (TOML); any "
        "number of captures",
    )
    group.add_argument(
        "--print-rules",
        metavar="linux-X.Y",
        type=_other_kernel,
        help="print the rules of a kernel as such a FILE, to be edited",
    )


def add_device_model(parser: argparse._ActionsContainer, many: bool = False) -> None:
    """Add the cost of the disk; ``many``: of several disks, one after the other."""
    parser.add_argument(
        "--device-model",
        metavar="FILE",
        action="append" if many else "store",
        help='cost of the disk for seconds: kind = "fixed", latency_us and ns_per_kib (TOML), a '
        "board profile, or a storage part such as emmc-friendlyelec-8gb (default: learnt from the "
        "capture)",
    )


def add_image(parser: argparse.ArgumentParser) -> None:
    """Add the image of a compressed root."""
    group = parser.add_argument_group("a start from compressed EROFS")
    group.add_argument(
        "--image",
        type=Path,
        help="EROFS image that the start was recorded on: it shows the compressed clusters, and "
        "the capture does not",
    )
    add_mountpoint(group)
    group.add_argument(
        "--unpacking",
        metavar="FILE",
        type=Path,
        help="times to unpack: unpacking.json of `foreread layout --target T` (default: learnt "
        "from the capture)",
    )


def add_mountpoint(parser: argparse._ActionsContainer) -> None:
    """Add the folder of an image."""
    parser.add_argument(
        "--mountpoint",
        metavar="PATH",
        help="where the image was mounted (default: where the start reads most)",
    )


def add_criterion(parser: argparse.ArgumentParser) -> None:
    """Add the choice between seconds and the published criterion."""
    parser.add_argument(
        "--criterion",
        choices=(SECONDS, PUBLISHED),
        default=SECONDS,
        help="criterion of the verdict: predicted seconds (default), or the 2010 paper's "
        "F² + G² (published), which ignores the speed of the disk",
    )


def question_of(args: argparse.Namespace) -> Question:
    """Return how the capture in ``args`` is predicted; missing options have their defaults."""
    from foreread.question import Question  # noqa: PLC0415  (not for the help)

    return Question(
        pids=getattr(args, "pids", "tree"),
        model=args.model,
        device_model=args.device_model,
        criterion=getattr(args, "criterion", SECONDS),
        image=getattr(args, "image", None),
        mountpoint=getattr(args, "mountpoint", None),
        unpacking=getattr(args, "unpacking", None),
        **loads_of(args),
    )


def _other_kernel(text: str) -> str:
    from foreread.analyzer.predict.counts import FIXED  # noqa: PLC0415  (not for the help)
    from foreread.analyzer.predict.linux import PREFIX  # noqa: PLC0415

    if _model(text) in (FIXED, PREFIX):
        raise argparse.ArgumentTypeError(f"{text!r} names no version: write linux-7.2")
    return text


def _kernel_model(text: str) -> str:
    from foreread.analyzer.predict.counts import FIXED  # noqa: PLC0415  (not for the help)

    if _model(text) == FIXED:
        raise argparse.ArgumentTypeError(f"{text!r} predicts no seconds: write linux-6.12")
    return text


def _model(text: str) -> str:
    """Return a model's name; ValueError if it is unknown."""
    if re.fullmatch(r"fixed|linux(-\d+\.\d+[\w.+~-]*)?", text, re.ASCII) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not fixed, linux or linux-X.Y")
    return text
