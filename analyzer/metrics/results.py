"""The metrics of each kind of result; every number is one of the result's own document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from foreread.analyzer.diff.document import DiffDocument, StartDiff
from foreread.analyzer.metrics.metric import (
    MEASURED,
    NONE,
    PREDICTED,
    PRESENT,
    PROPOSED,
    SECONDS,
    Metric,
    labels_of,
)
from foreread.analyzer.predict.kib import emulated_pages
from foreread.analyzer.predict.prediction import NO_READAHEAD, Prediction
from foreread.analyzer.suite.answer import SuiteDisk, SuiteDocument
from foreread.tracer.formats.capture import Metadata, start_name
from foreread.tracer.formats.scenario import IDLE
from foreread.tracer.formats.sweep import Sweep


def of_prediction(prediction: Prediction, capture: Metadata, path: Path) -> list[Metric]:
    """Return the metrics at the present window, and at the one that the verdict sets or keeps.

    ``capture`` and ``path`` name the start and its board.
    """
    reference = prediction.reference
    windows = {_window(reference.name): reference.kb, PROPOSED: prediction.verdict.read_ahead_kb}
    return [
        metric
        for window, kb in windows.items()
        if kb is not None
        for metric in _at(
            prediction,
            kb,
            labels_of(
                start=start_name(capture.command, path),
                board=None if capture.host is None else capture.host.board,
                window=window,
                kind=PREDICTED,
            ),
        )
    ]


def of_suite(answer: SuiteDocument) -> list[Metric]:
    """Return the metrics of each start, and of all starts that read from a disk."""
    return [
        metric
        for board in answer.boards
        for disk in board.disks
        for metric in _of_disk(board.name, disk)
    ]


def of_difference(difference: DiffDocument) -> list[Metric]:
    """Return NEW's metrics at its own window, and the seconds of OLD."""
    metrics = [metric for start in difference.starts for metric in _of_start(start)]
    if len(difference.starts) > 1 and difference.seconds_new is not None:
        labels = labels_of(window=PRESENT, kind=PREDICTED)
        metrics.append(
            Metric(
                name="weighted_seconds",
                value=difference.seconds_new,
                labels=labels,
                failed=bool(difference.regressed),
            )
        )
    return metrics


def of_sweep(sweep: Sweep) -> list[Metric]:
    """Return the medians at the present window, with the fastest and the slowest run as bounds.

    None if no run at that window ended by itself.
    """
    point = next((p for p in sweep.points if p.read_ahead_kb == sweep.default_read_ahead_kb), None)
    if point is None or not point.seconds:
        return []
    beside = None if sweep.condition == IDLE else sweep.condition
    labels = labels_of(
        start=start_name(sweep.command),
        board=sweep.board,
        beside=beside,
        window=PRESENT,
        kind=MEASURED,
    )
    return [
        Metric(name=name, value=median(runs), low=min(runs), high=max(runs), labels=labels)
        for name, runs in (
            (SECONDS, point.seconds),
            ("requests", point.requests),
            ("read_pages", point.pages),
        )
    ] + [Metric(name="read_ahead_kib", value=point.read_ahead_kb, labels=labels)]


def _window(reference: str) -> str:
    return NONE if reference == NO_READAHEAD else PRESENT


def _at(prediction: Prediction, kb: int, labels: dict[str, str]) -> Iterator[Metric]:
    """Yield the metrics of all disks together at a window, if it was predicted."""
    total, pages = prediction.total, emulated_pages(kb, prediction.page_size)
    if pages not in total.windows:
        return
    at = total.windows.index(pages)
    seconds, low, high = (
        None if column is None else column[at]
        for column in (total.seconds, total.seconds_low, total.seconds_high)
    )
    if seconds is not None:
        yield Metric(name=SECONDS, value=seconds, low=low, high=high, labels=labels)
    yield Metric(name="requests", value=total.f[at], labels=labels)
    yield Metric(name="read_pages", value=total.pages[at], labels=labels)
    yield Metric(name="read_ahead_kib", value=kb, labels=labels)


def _of_disk(board: str, disk: SuiteDisk) -> Iterator[Metric]:
    """Yield the metrics of a suite's starts that read from one disk, and their weighted sums."""
    for start in disk.starts:
        for window, kb, seconds, band in (
            (_window(start.now_is), start.read_ahead_kb_now, start.seconds_now, (None, None)),
            (
                PROPOSED,
                start.read_ahead_kb,
                start.seconds,
                (start.seconds_low, start.seconds_high),
            ),
        ):
            labels = labels_of(
                start=start.name, board=board, disk=disk.name, window=window, kind=PREDICTED
            )
            yield Metric(name=SECONDS, value=seconds, low=band[0], high=band[1], labels=labels)
            yield Metric(name="read_ahead_kib", value=kb, labels=labels)
    for window, weighted, low, high in (
        (PRESENT, disk.seconds_now, None, None),
        (PROPOSED, disk.seconds, disk.seconds_low, disk.seconds_high),
    ):
        if weighted is not None:
            labels = labels_of(board=board, disk=disk.name, window=window, kind=PREDICTED)
            yield Metric(name="weighted_seconds", value=weighted, low=low, high=high, labels=labels)


def _of_start(start: StartDiff) -> Iterator[Metric]:
    """Yield the metrics of one compared start."""
    new = start.new
    labels = labels_of(
        start=start.name,
        board=start.board or new.board,
        window=_window(new.window_is),
        kind=PREDICTED,
    )
    if new.seconds is not None:
        yield Metric(
            name=SECONDS,
            value=new.seconds,
            low=new.seconds_low,
            high=new.seconds_high,
            labels=labels,
            failed=bool(start.regressed),
        )
    if start.old.seconds is not None:
        yield Metric(name="baseline_seconds", value=start.old.seconds, labels=labels)
    yield Metric(name="requests", value=new.requests, labels=labels)
    yield Metric(name="read_pages", value=new.pages, labels=labels)
    yield Metric(name="read_ahead_kib", value=new.read_ahead_kb, labels=labels)
