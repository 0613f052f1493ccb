"""How two settings of a start are compared by pairs of cold runs, on one board or on several."""

from __future__ import annotations

from dataclasses import dataclass

from foreread.boards.base.brief import brief
from foreread.checks import checked_number
from foreread.measuring.advice_row import Advised
from foreread.question import Question
from foreread.tracer.formats.memory import within
from foreread.tracer.formats.scenario import IDLE, beside
from foreread.tracer.runs.options import Streams

MOST_RUNS = 60


@dataclass(frozen=True)
class RunLimits:
    """When runs end without an answer; seconds are of this machine's time."""

    runs: int = MOST_RUNS
    seconds: float | None = None

    def in_time(self, passed_s: float) -> bool:
        """Return whether the comparison may go on after this time."""
        return self.seconds is None or passed_s < self.seconds

    def left_s(self, passed_s: float, done: int, most: int) -> float:
        """Return how long it may still take after ``done`` of ``most`` runs."""
        left = passed_s / done * max(most - done, 0)
        return left if self.seconds is None else max(0.0, min(left, self.seconds - passed_s))


@dataclass(frozen=True, repr=False)
class ConfirmOptions:
    """What is compared with the present window, and for how long.

    ``read_ahead_kb``: the window to test, in KiB; None: the predicted one, of ``question``.
    ``row``: a row of advice (:func:`foreread.row_of_advice`) to test instead of a window.
    ``scenario``: the load during the runs: idle, reader[:FILE], writer[:FOLDER], memory[:MIB].
    ``runs``, ``seconds``: stop undecided after so many runs, of all boards together, or after this
    time. ``resume``: continue the latest undecided result of these boards, scenario and windows;
    boards that are gone are left out. ``seed``: of the order of runs; None: random. ``force``:
    measure although a machine is not the one of the capture. ``limit_s``: maximum duration of one
    run. ``memory_kib``: memory of each run, in a control group without swap; a run that this limit
    kills, or that lasts longer than ``limit_s``, counts as ``limit_s``. ``wait_s``: how long to
    wait for another foreread that holds the machine's settings.
    ``streams``: where the output of the command goes; None: to standard error.
    """

    __repr__ = brief

    read_ahead_kb: int | None = None
    row: Advised | None = None
    scenario: str = IDLE
    question: Question | None = None
    runs: int = MOST_RUNS
    seconds: float | None = None
    resume: bool = False
    seed: int | None = None
    force: bool = False
    limit_s: float = 600.0
    memory_kib: int | None = None
    wait_s: float = 0.0
    streams: Streams | None = None

    @property
    def conditions(self) -> str:
        """The load and the limited memory, as a Confirmation names them."""
        return beside(self.scenario) + within(self.memory_kib)

    @property
    def limits(self) -> RunLimits:
        """When runs end without an answer. Raises ArgumentError for less than one run."""
        return RunLimits(checked_number(self.runs, "runs", least=1), self.seconds)
