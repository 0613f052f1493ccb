"""A recorded start that is run again: its command, its target, the window proposed for it."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from analyzer.ingest.archive import is_archive
from analyzer.ingest.load import load
from analyzer.predict.prediction import Verdict
from foreread.cli.arguments.run import recorded_run, recorded_target
from foreread.cli.commands.predict import predicted
from foreread.cli.proposal import Proposal, proposal_of
from tracer.error import RecordError
from tracer.formats.capture import METADATA, Capture
from tracer.local.command import Streams
from tracer.local.repeat import repeated
from tracer.local.run import RunOptions
from tracer.local.trial import TrialBench


@dataclass(frozen=True)
class Recorded:
    """What it takes to run a recorded start again; ``proposal`` is None without one."""

    capture: Capture
    run: RunOptions
    target: str
    proposal: Proposal | None


def recorded_start(
    path: Path, args: argparse.Namespace, asked_kb: int | None = None
) -> tuple[Recorded, Verdict]:
    """Return the start that was recorded in ``path``, and the verdict about it.

    ``args`` are those of ``add_model``; ``asked_kb`` is proposed in place of the predicted window.
    Raises what reading the capture does, and RecordError for a trace of another tool.
    """
    recording = load(path, getattr(args, "pids", "tree"))
    capture = recording.capture
    if capture is None:
        raise RecordError(
            f"{path} does not contain the command and its options",
            "record with foreread record -o CAPTURE -- COMMAND",
        )
    # What the command prints must not mix with the result.
    run = recorded_run(capture, Streams(stdout=2, stderr=2))
    prediction = predicted(recording, args)
    proposal = proposal_of(prediction, asked_kb)
    return Recorded(capture, run, recorded_target(capture), proposal), prediction.verdict


def is_capture(path: Path) -> bool:
    """Return whether ``path`` is a capture of foreread, a folder or an archive."""
    try:
        return (path / METADATA).is_file() or (path.is_file() and is_archive(path))
    except OSError:
        return False


def repeating(of: Recorded | None, here: bool) -> AbstractContextManager[None]:
    """Return the environment and control groups of the recorded run, for runs on this machine.

    A target's commands have the environment of its shell, now as then.
    """
    if of is None or not here:
        return nullcontext()
    return repeated(of.capture.environment, of.capture.cgroups)


def check_board(bench: TrialBench, capture: Capture) -> None:
    """Raise RecordError if ``bench`` is not the board that was recorded."""
    host = capture.host
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
    for what, here, recorded in pairs:
        if here != recorded:
            raise RecordError(
                f"this is not the recorded board: its {what} is {here!r}, "
                f"the capture has {recorded!r}",
                "record on this board, or run anyway with --force",
            )
