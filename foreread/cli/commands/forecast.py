"""``foreread forecast``: what another kernel does to a recorded start."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from foreread.analyzer.forecast.defaults import NOW, THEN
from foreread.analyzer.forecast.document import (
    Forecast,
    ForecastCase,
    ForecastCause,
    ForecastChange,
    ForecastDisk,
)
from foreread.analyzer.forecast.predicted import forecast
from foreread.analyzer.predict.prediction import MINOR_SHARE
from foreread.boards.base.counted import plural
from foreread.boards.base.units import percent_text
from foreread.cli.arguments import UsageError, refuse
from foreread.cli.arguments.capture import add_capture
from foreread.cli.arguments.model import add_device_model, add_other_kernel
from foreread.cli.arguments.recording import recording_of
from foreread.cli.arguments.verbose import add_verbose
from foreread.cli.arguments.windows import window_kb
from foreread.cli.main import EXIT_FAILED
from foreread.cli.text.answer import answer_text
from foreread.cli.text.table import render
from foreread.error import ERRORS

_LEFT = frozenset({0, 1})
_LEAST_S = 0.0005  # smaller parts would be written as 0.000
_MORE = "each change with its requests and pages, and all notes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser, nargs="*")
    add_other_kernel(parser)
    add_device_model(parser, many=True)
    add_verbose(parser, _MORE)
    for option, kernel in (
        (NOW, "the capture's kernel, or on both sides of --rules,"),
        (THEN, "the other kernel"),
    ):
        parser.add_argument(
            option,
            metavar="K",
            type=window_kb,
            help=f"window of all disks under {kernel} in KiB (default: the kernel's own default)",
        )


def run(args: argparse.Namespace) -> int:
    """Print the forecast."""
    if args.print_rules is not None:
        return _print_rules(args)
    if not args.capture:
        raise UsageError("give a capture")
    if args.rules is not None:
        return _patch(args)
    if len(args.capture) > 1 or len(args.device_model or ()) > 1:
        raise UsageError("--model is about one capture and one disk: remove the others")
    (device_model,) = args.device_model or (None,)
    recording = recording_of(args.capture[0], args)
    windows = (args.read_ahead_kb_now, args.read_ahead_kb_then)
    predicted = forecast(recording, args.model, device_model, *windows)
    print(predicted.to_json() if args.json else _text(predicted, args.verbose))
    return 0


def _print_rules(args: argparse.Namespace) -> int:
    """Print the rules of a kernel as a file of a patch."""
    from foreread.analyzer.forecast.patch import template  # noqa: PLC0415  (few patch a kernel)

    refuse({"CAPTURE": args.capture, "--json": args.json}, "--print-rules prints a file")
    print(template(args.print_rules))
    return 0


def _patch(args: argparse.Namespace) -> int:
    """Print what a patch does to the captures; those that cannot be used are named."""
    # Few patch a kernel.
    from foreread.analyzer.forecast.patch import read_patch  # noqa: PLC0415
    from foreread.analyzer.forecast.patch_document import PatchedStart, PatchLeft  # noqa: PLC0415
    from foreread.analyzer.forecast.patched import forecast_patch, ranked  # noqa: PLC0415
    from foreread.analyzer.predict.disk.device_model import device_from  # noqa: PLC0415
    from foreread.cli.text.patch import patch_text  # noqa: PLC0415
    from foreread.cli.text.progress import ProgressLine  # noqa: PLC0415

    refuse({THEN: args.read_ahead_kb_then is not None}, f"--rules has one window, {NOW}")
    patch, devices = read_patch(args.rules), args.device_model or [None]
    for device in devices:
        device_from(device)
    starts, left = list[PatchedStart](), list[PatchLeft]()
    line = ProgressLine()
    line.step(f"{plural(len(args.capture), 'capture')} under {args.rules}")
    try:
        for done, path in enumerate(args.capture):
            line.part("captures", done, len(args.capture))
            try:
                recording = recording_of(path, args)
                for device in devices:
                    of = (recording, patch, device, args.read_ahead_kb_now)
                    starts.append(forecast_patch(*of))
            except (*ERRORS, OSError) as error:
                remedy = getattr(error, "remedy", None)
                left.append(PatchLeft(capture=str(path), why=str(error), remedy=remedy))
    finally:
        line.end()
    predicted = ranked(patch, starts, left)
    print(predicted.to_json() if args.json else patch_text(predicted, verbose=args.verbose))
    return EXIT_FAILED if left else 0


def _text(predicted: Forecast, verbose: bool) -> str:
    least = MINOR_SHARE * predicted.accessed
    disks = [_disk(disk) for disk in predicted.disks if disk.accessed >= least]
    return answer_text(
        list(_answer(predicted)),
        [_cases(predicted), *([_causes(predicted)] if predicted.causes and verbose else [])],
        doubts=predicted.doubts,
        notes=predicted.notes,
        basis=[*disks, *([_how_many(predicted)] if predicted.causes else [])],
        more=f"--verbose ({_MORE})",
        verbose=verbose,
    )


def _disk(disk: ForecastDisk) -> str:
    now = f"{disk.now_read_ahead_kb:,} KiB now ({disk.now_why})"
    then = f"{disk.then_read_ahead_kb:,} KiB then ({disk.then_why})"
    return f"window of {disk.name}: {now}, {then}"


def _cases(predicted: Forecast) -> str:
    named = [("now", predicted.now), ("then", predicted.then)]
    if predicted.kept.read_ahead_kb != predicted.then.read_ahead_kb:
        named.append(("then, window of now", predicted.kept))
    if predicted.best is not None and predicted.advice.action == "set":
        named.append(("then, best window", predicted.best))
    timed = ("seconds", "band") if predicted.change is not None else ()
    head = ("", "kernel", "KiB", "requests", "pages", "unused", *timed)
    return render(head, [_case(name, case) for name, case in named], _LEFT)


def _case(name: str, case: ForecastCase) -> tuple[str, ...]:
    numbers = (case.read_ahead_kb, case.requests, case.pages, case.unused)
    timed: tuple[str, ...] = ()
    if case.seconds is not None:
        timed = (f"{case.seconds:.3f}", f"{case.seconds_low:.3f}-{case.seconds_high:.3f}")
    return (name, case.model, *(f"{number:,}" for number in numbers), *timed)


def _causes(predicted: Forecast) -> str:
    head = ("change, alone", "since", "requests", "pages", "seconds")
    return render(head, [_cause(cause) for cause in predicted.causes], _LEFT)


def _how_many(predicted: Forecast) -> str:
    """Return how many changes matter to this start, and that parts do not add up."""
    verb = "changes" if predicted.effective == 1 else "change"
    every = plural(predicted.changes, "change")
    text = f"{predicted.effective} of {every} between the kernels {verb} what this start reads"
    if predicted.effective < 2:
        return text
    most = (
        f", these {len(predicted.causes)} most"
        if predicted.effective > len(predicted.causes)
        else ""
    )
    return f"{text}{most}; they act on each other, so that the parts do not add up"


def _cause(cause: ForecastCause) -> tuple[str, ...]:
    seconds = "-" if cause.seconds is None else f"{cause.seconds:+.3f}"
    since = f"{cause.since}, undone" if cause.undone else cause.since
    return (cause.what, since, f"{cause.requests:+,}", f"{cause.pages:+,}", seconds)


def _answer(predicted: Forecast) -> Iterator[str]:
    """Yield the lines of the answer: the difference, its causes, and what to set."""
    advice = predicted.advice
    if predicted.change is None:
        yield f"forecast: {advice.why}"
    else:
        yield f"forecast: {_difference(predicted.change)}"
        for cause in predicted.causes:
            if cause.seconds is not None and abs(cause.seconds) >= _LEAST_S:
                yield f"  {cause.seconds:+.3f} s: {cause.what}"
        yield f"  {_setting(predicted)}: {advice.why}"
        if advice.keep_read_ahead_kb is not None:
            yield f"  to keep the present time: set read_ahead_kb={advice.keep_read_ahead_kb}"
    if advice.remedy is not None:
        yield f"  run: {advice.remedy}"


def _difference(change: ForecastChange) -> str:
    if not change.seconds:
        return "no difference"
    words = {"same": "about the same"}.get(change.direction, change.direction)
    band = f"{change.seconds_low:+.3f} to {change.seconds_high:+.3f} s"
    certain = "" if change.certain else "; not certain, since the band contains 0"
    share = percent_text(change.share, signed=True)
    return f"{words}: {change.seconds:+.3f} s ({share}; band {band}{certain})"


def _setting(predicted: Forecast) -> str:
    advice = predicted.advice
    if advice.action == "set":
        return f"to gain: set read_ahead_kb={advice.read_ahead_kb}"
    return "leave the window at its default" if _is_default(predicted) else "leave the window"


def _is_default(predicted: Forecast) -> bool:
    return all(disk.then_why != "as given" for disk in predicted.disks)
