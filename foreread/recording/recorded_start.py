"""A recorded start that is run again: its command, its target, the window proposed for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.prediction import Verdict
from foreread.analyzer.predict.proposal import Proposal, proposal_of
from foreread.question import Question
from foreread.recording.words import recorded_run, recorded_target
from foreread.tracer.error import RecordError
from foreread.tracer.formats.archive import is_archive
from foreread.tracer.formats.capture import METADATA, Metadata
from foreread.tracer.runs.options import RunOptions, Streams
from foreread.tracer.trials.trial import TrialBench


@dataclass(frozen=True)
class RecordedStart:
    """The data needed to run a recorded start again; ``proposal`` may be None."""

    capture: Metadata
    run: RunOptions
    target: str
    proposal: Proposal | None


def recorded_start(
    path: Path,
    question: Question | None = None,
    window_kb: int | None = None,
    streams: Streams | None = None,
) -> tuple[RecordedStart, Verdict]:
    """Return the start that was recorded in ``path``, and the verdict about it.

    ``streams``: where the command's output goes; None: to standard error. ``window_kb`` is proposed
    instead of the predicted window. Raises as ``load`` and ``Question.predicted``, and RecordError
    for a trace of another tool.
    """
    question = question or Question()
    recording = load(path, question.pids)
    capture = recording.capture
    if capture.command is None:
        raise RecordError(
            f"{path} does not contain the command and its options",
            "record with foreread record -o CAPTURE -- COMMAND",
        )
    # The command's output must not mix with the result.
    run = recorded_run(capture, streams or Streams(stdout=2, stderr=2))
    prediction = question.predicted(recording)
    proposal = proposal_of(prediction, window_kb)
    return RecordedStart(capture, run, recorded_target(capture), proposal), prediction.verdict


def is_capture(path: Path) -> bool:
    """Return whether ``path`` is a capture of foreread, a folder or an archive."""
    try:
        return (path / METADATA).is_file() or (path.is_file() and is_archive(path))
    except OSError:
        return False


def board_pairs(bench: TrialBench, capture: Metadata) -> list[tuple[str, str, str]]:
    """Return what identifies a board: its name, the value of ``bench``, and the recorded value.

    Empty where the recorded machine is unknown.
    """
    host = capture.host
    if host is None:
        return []
    pairs = [
        ("kernel", bench.kernel, host.kernel),
        ("machine", bench.machine, host.machine),
        ("CPU", bench.model, host.cpu_model),
        ("page size", str(bench.page_bytes), str(host.page_size)),
    ]
    sizes = {device.name: str(device.size_bytes) for device in capture.devices}
    pairs += [
        (f"size of {disk.name}", str(disk.size_bytes), sizes.get(disk.name, "unknown"))
        for disk in bench.known
    ]
    return pairs


def check_board(bench: TrialBench, capture: Metadata) -> None:
    """Raise RecordError if ``bench`` is not the board that was recorded."""
    for what, here, recorded in board_pairs(bench, capture):
        if here != recorded:
            raise RecordError(
                f"this is not the recorded board: its {what} is {here!r}, "
                f"the capture has {recorded!r}",
                "record on this board, or run anyway with --force",
            )
