"""The rows of a store: one for each capture, and one for each capture, disk and window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from foreread.analyzer.fleet.names import (
    UNREAD,
    board_name,
    board_slug,
    build,
    command_text,
    start_slug,
)
from foreread.analyzer.ingest.losses import lost_events
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.prediction import Curve, Prediction
from foreread.analyzer.predict.seconds import LADDER
from foreread.analyzer.report.wording import shortened
from foreread.boards.base.printable import printable
from foreread.boards.base.units import kib_to_pages
from foreread.tracer.formats.confirmation import Confirmation

CAPTURE, WINDOW = "capture", "window"
_MOST_TEXT = 2000  # characters of a text in a row
_UNKNOWN = "unknown"
Row = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """A column of the store, with the type that DuckDB and Parquet have for it."""

    name: str
    kind: str
    meaning: str


COLUMNS = (
    Column("row", "VARCHAR", "capture: the summary of a capture; window: one of its windows"),
    Column("key", "VARCHAR", "digest of content, foreread's version, model and device"),
    Column("source", "VARCHAR", "address of the capture"),
    Column("source_key", "VARCHAR", "digest of address, size, time or ETag, and as in key"),
    Column("content", "VARCHAR", "digest of the capture's bytes"),
    Column("bytes", "BIGINT", "size of the capture"),
    Column("foreread", "VARCHAR", "version that analysed it"),
    Column("analysed", "TIMESTAMP", "when it was analysed, UTC"),
    Column("cpu_seconds", "DOUBLE", "processor time of the analysis"),
    Column("asked_model", "VARCHAR", "--model; empty: that of the capture's kernel"),
    Column("asked_device", "VARCHAR", "--device-model; empty: learnt from the capture"),
    Column("board_name", "VARCHAR", "node name of the board"),
    Column("machine", "VARCHAR", "uname -m"),
    Column("cpu_model", "VARCHAR", "the CPU, or the board by its device tree"),
    Column("cpu_count", "BIGINT", "processors"),
    Column("memory_kib", "BIGINT", "memory in KiB"),
    Column("kernel", "VARCHAR", "uname -r"),
    Column("build", "VARCHAR", "digest of kernel, programs and libraries of the start"),
    Column("command", "VARCHAR", "the recorded command"),
    Column("created", "TIMESTAMP", "when it was recorded, UTC"),
    Column("recorded_by", "VARCHAR", "version of foreread that recorded it"),
    Column("recorded_seconds", "DOUBLE", "duration of the recorded run"),
    Column("lost_events", "BIGINT", "events that the recorder lost"),
    Column("cold", "BOOLEAN", "whether caches were shown to be empty before the run"),
    Column("accessed_pages", "BIGINT", "pages that the application accessed (Tap)"),
    Column("model", "VARCHAR", "model of the prediction"),
    Column("verdict", "VARCHAR", "set, keep, none or measure"),
    Column("why", "VARCHAR", "reason of the verdict"),
    Column("now_kb", "BIGINT", "the start's window now, in KiB"),
    Column("proposed_kb", "BIGINT", "recommended window in KiB; null: none"),
    Column("requests_now", "BIGINT", "requests with the window now"),
    Column("seconds_now", "DOUBLE", "predicted seconds with the window now"),
    Column("seconds_proposed", "DOUBLE", "predicted seconds with the recommended window"),
    Column("gain", "DOUBLE", "share of seconds_now that the recommended window saves"),
    Column("doubts", "VARCHAR[]", "what makes the seconds less certain"),
    Column("confirmation", "VARCHAR", "outcome of the newest measured proof; null: not measured"),
    Column("confirmed_kb", "BIGINT", "the window of that proof, in KiB"),
    Column("confirmed_gain", "DOUBLE", "share of the time that was saved, measured"),
    Column("error", "VARCHAR", "why the capture was not analysed; null: it was"),
    Column("remedy", "VARCHAR", "what to do about the error"),
    Column("device", "VARCHAR", "window rows: name of the disk"),
    Column("window_pages", "BIGINT", "window rows: the window in pages"),
    Column("read_ahead_kb", "BIGINT", "window rows: the window in KiB"),
    Column("requests", "BIGINT", "window rows: requests, those of metadata included"),
    Column("f", "BIGINT", "window rows: requests of file data (F)"),
    Column("g", "BIGINT", "window rows: pages loaded and never accessed (G)"),
    Column("pages", "BIGINT", "window rows: pages of file data loaded"),
    Column("seconds", "DOUBLE", "window rows: predicted seconds; null: not predicted"),
    Column("seconds_low", "DOUBLE", "window rows: lower bound of the seconds' band"),
    Column("seconds_high", "DOUBLE", "window rows: upper bound of the seconds' band"),
)


@dataclass(frozen=True)
class Rows:
    """The rows of one capture, and their partition."""

    board: str
    start: str
    rows: list[Row]


def analysed_rows(recording: Recording, prediction: Prediction) -> Rows:
    """Return the rows of an analysed capture; the columns about its file are left out."""
    capture = recording.capture
    board = UNREAD if capture.host is None else board_slug(capture.host)
    summary = {"row": CAPTURE, **_recorded(recording), **_predicted(prediction)}
    windows = [row for curve in prediction.devices for row in _windows(curve, prediction)]
    return Rows(board, start_slug(capture), [summary, *windows])


def error_row(error: str, remedy: str) -> Rows:
    """Return the row of a capture that could not be analysed."""
    row = {"row": CAPTURE, "error": text(error) or "unknown", "remedy": text(remedy)}
    return Rows(UNREAD, UNREAD, [row])


def text(words: str) -> str:
    """Return hostile text as a row has it: printable characters, of bounded length."""
    return shortened(printable(words), _MOST_TEXT)


def _recorded(recording: Recording) -> Row:
    capture, host, cold = recording.capture, recording.capture.host, recording.capture.cold
    if host is None or cold is None:  # another tool's trace
        names = {"board_name": _UNKNOWN, "command": _UNKNOWN}
        return {**names, "kernel": text(recording.kernel or ""), "build": build(recording)}
    return {
        "board_name": text(board_name(host)),
        "machine": text(host.machine),
        "cpu_model": text(host.cpu_model),
        "cpu_count": host.cpu_count,
        "memory_kib": host.memory_kib,
        "kernel": text(host.kernel),
        "build": build(recording),
        "command": text(command_text(capture)),
        "created": text(capture.created or ""),
        "recorded_by": text(capture.foreread or ""),
        "recorded_seconds": capture.wall_seconds,
        "lost_events": lost_events(recording),
        "cold": cold.proven,
        **_confirmed(capture.confirmations),
    }


def _confirmed(confirmations: list[Confirmation]) -> Row:
    """Return the newest proof of a window alone, on an idle machine as predicted."""
    proofs = [proof for proof in confirmations if not proof.change and not proof.conditions]
    if not proofs:
        return {}
    newest = max(proofs, key=lambda proof: proof.created)
    return {
        "confirmation": newest.outcome,
        "confirmed_kb": newest.proposed_kb,
        "confirmed_gain": newest.gain,
    }


def _predicted(prediction: Prediction) -> Row:
    total, verdict = prediction.total, prediction.verdict
    now_kb, proposed = prediction.reference.kb, verdict.read_ahead_kb
    now = _seconds_now(prediction)
    then = None if proposed is None else total.known_seconds.get(proposed)
    return {
        "accessed_pages": total.tap,
        "model": text(prediction.model),
        "verdict": verdict.action,
        "why": text(verdict.why),
        "remedy": text(verdict.remedy or ""),
        "now_kb": now_kb,
        "proposed_kb": proposed,
        "requests_now": _requests_at(total, now_kb),
        "seconds_now": now,
        "seconds_proposed": then,
        "gain": 1 - then / now if now and then is not None else None,
        "doubts": [text(doubt) for doubt in prediction.doubts],
    }


def _seconds_now(prediction: Prediction) -> float | None:
    """Return the seconds with the window now, which may be beyond the curve's windows."""
    now = kib_to_pages(prediction.reference.kb, prediction.page_size)
    bands = prediction.bands
    return bands.at(now) if bands is not None and now in bands.windows else None


def _requests_at(curve: Curve, kib: int) -> int | None:
    if kib not in curve.read_ahead_kb:
        return None
    return curve.f[curve.read_ahead_kb.index(kib)] + (curve.metadata_requests or 0)


def _windows(curve: Curve, prediction: Prediction) -> Iterator[Row]:
    """Yield the rows of a disk's windows: those with seconds, else the ladder's."""
    nothing: list[float | None] = [None] * len(curve.windows)
    seconds = curve.seconds or nothing
    timed = curve.seconds is not None
    now = prediction.reference.kb
    for at, window in enumerate(curve.windows):
        kept = seconds[at] is not None if timed else window in LADDER
        if kept or window == curve.quasi_optimal or curve.read_ahead_kb[at] == now:
            yield {
                "row": WINDOW,
                "device": text(curve.name),
                "window_pages": window,
                "read_ahead_kb": curve.read_ahead_kb[at],
                "requests": curve.f[at] + (curve.metadata_requests or 0),
                "f": curve.f[at],
                "g": curve.g[at],
                "pages": curve.pages[at],
                "seconds": seconds[at],
                "seconds_low": (curve.seconds_low or nothing)[at],
                "seconds_high": (curve.seconds_high or nothing)[at],
            }
