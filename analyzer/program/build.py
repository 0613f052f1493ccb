"""Turns a recording at read_ahead_kb=0 into the Program that the emulation runs."""

from __future__ import annotations

from dataclasses import dataclass

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.program.evidence import evidence
from foreread.analyzer.program.follow import follow
from foreread.analyzer.program.followed import ASSUMED
from foreread.emulator.linux.operations import Program


@dataclass(frozen=True)
class Built:
    """A recording's program; ``holes`` are (file row, page) that were read without I/O.

    ``times`` (u8, ns of the trace clock): of the operations, 0 before the run;
    ``notes`` list what the recording lacked.
    """

    program: Program
    times: Array
    holes: list[tuple[int, int]]
    notes: list[str]


def build(recording: Recording, files: Array) -> Built:
    """Return the recording's Program on ``files`` (FILE, a row for each of the recording's).

    Raises FollowError for a recording with more data than its length allows.
    """
    followed = follow(evidence(recording, files["size"]))
    program = Program(followed.operations, followed.mappings, followed.handles, files)
    notes = [
        f"{count} {ASSUMED[what]}"
        for what, count in sorted(followed.assumed.items(), key=lambda item: ASSUMED[item[0]])
    ]
    return Built(program, followed.times, followed.holes, notes)
