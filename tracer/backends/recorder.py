"""The common part of the back-ends that run a recording program (perf, trace-cmd)."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from contextlib import ExitStack
from pathlib import Path

from foreread.boards.base.interrupts import uninterrupted
from foreread.boards.base.scratch import scratch_folder
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.backends.base import INDISPENSABLE, Probe, Recorded
from foreread.tracer.backends.supervised import Supervised
from foreread.tracer.backends.tool import version_of
from foreread.tracer.error import RecordError

_TRIAL_BUFFER_KIB = 64
_ON_DISK = (
    "too little memory for the trace: it is written to disk, and the recording contains "
    "these writes"
)


class Recorder(ABC):
    """Back-end around ``program``, which records into one file called ``file``."""

    name: str
    program: str
    package: str
    file: str

    def __init__(self) -> None:
        self._undo = ExitStack()
        self._recording: Supervised | None = None
        self._recorded: Recorded | None = None
        self._notes: list[str] = []
        self._probe: Probe | None = None

    def probe(self) -> Probe:
        """Return whether the program can record here, by recording for a moment, once."""
        self._probe = self._probe or self._try()
        return self._probe

    def _try(self) -> Probe:
        if shutil.which(self.program) is None:
            lacks = f"{self.program} is not installed"
            return Probe(self.name, False, lacks, f"install the package {self.package}")
        version = version_of(self.program)
        with scratch_folder() as directory:
            trial = type(self)()
            try:
                trial.start(Path(directory), [INDISPENSABLE], _TRIAL_BUFFER_KIB)
                trial.stop()
            except RecordError as error:
                return Probe(self.name, False, str(error), error.remedy, version)
        return Probe(self.name, True, version=version)

    def start(self, trace_directory: Path, events: list[str], buffer_kib: int) -> None:
        """Begin recording ``events`` of all CPUs; RecordError when the program cannot."""
        self._recorded, self._notes = None, []
        with uninterrupted():
            try:
                place = self._undo.enter_context(tracefs_mount.mounted())
                self._recording = Supervised(self.name, trace_directory)
                self._undo.callback(self._recording.clean)
                self._begin(self._recording, place, events, buffer_kib)
            except OSError as error:
                self._clean()
                message = f"{self.name}: {error.filename}: {error.strerror}"
                raise RecordError(message, "run as root, with enough free space") from error
            except BaseException:
                self._clean()
                raise

    def stop(self) -> Recorded:
        """End the recording, move its file into the trace directory, count what was lost."""
        with uninterrupted():
            try:
                if self._recording is not None:
                    self._recorded = self._save(self._recording)
            finally:
                self._clean()
        return self._recorded or Recorded(lost={})

    @abstractmethod
    def _begin(
        self, recording: Supervised, place: Path, events: list[str], buffer_kib: int
    ) -> None:
        """Start ``recording`` with the program's command line; ``place`` is tracefs."""

    @abstractmethod
    def _judge(self, file: Path) -> Recorded:
        """Return the losses of the recording in ``file``, and notes about them."""

    def _save(self, recording: Supervised) -> Recorded:
        recording.stop()
        if not recording.in_memory:
            self._notes.append(_ON_DISK)
        judged = self._judge(recording.deliver(self.file))
        return Recorded(judged.lost, self._notes + judged.notes)

    def _clean(self) -> None:
        self._recording = None
        self._undo.close()
