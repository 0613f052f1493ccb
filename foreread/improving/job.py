"""What ``improve`` works on: its folder, its options, and the results that its steps have left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from foreread.analyzer.advise.advise import DOCUMENT
from foreread.analyzer.advise.document import AdviceDocument, AdviceRow
from foreread.analyzer.confirm.sequential import mean_seconds
from foreread.analyzer.confirm.text import stored, stored_changes
from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.beside import load_words
from foreread.analyzer.predict.memory import lacking_kib
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.tuner.campaign.progress import CampaignProgress
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.analyzer.tuner.findings.confirming import Confirming
from foreread.analyzer.tuner.findings.results import Results, read_results
from foreread.analyzer.tuner.space.genes import Allele
from foreread.boards.base.brief import brief
from foreread.boards.base.document import read_document
from foreread.boards.base.silent import silent
from foreread.boards.base.units import size_word
from foreread.boards.open import LOCAL
from foreread.documents.improve import ImproveMeasured, ImproveStep
from foreread.error import ForereadError
from foreread.measuring.advice_row import MOST_CHANGE
from foreread.measuring.comparison import PairProgress
from foreread.question import Question
from foreread.tracer.formats.capture import METADATA, NO_METADATA, Metadata, read
from foreread.tracer.formats.confirmation import Confirmation
from foreread.tracer.formats.scenario import IDLE, MEMORY
from foreread.tracer.runs.options import RunOptions, Streams

CAPTURE, TUNING, ADVICE, REPORT, BOOT = "app.capture", "app.tuning", "advice", "report", "boot"
OUTPUT = "output.txt"  # of the command, in all its runs
MOST_TRIED = 3  # remedies that are measured until one is confirmed
MOST_RUNS = 32  # of each of them
# A list must be predicted to save so much more than a window to be measured first: the shell script
# that replays it takes time of its own, which the prediction does not have.
WINDOW_FIRST = 0.85  # of the window's seconds


@dataclass(frozen=True, repr=False)
class Watch:
    """Functions that ``improve`` calls; ``tell`` gets each part of a step, in words."""

    __repr__ = brief

    begun: Callable[[str], None] = silent  # with the name of a step
    ended: Callable[[ImproveStep], None] = silent
    tell: Callable[[str], None] = silent
    part: Callable[[str, int, int], None] = silent
    pair: Callable[[PairProgress], None] = silent
    searching: Callable[[CampaignProgress], None] = silent
    confirming: Callable[[Confirming], None] = silent


@dataclass(frozen=True, repr=False)
class TuneWish:
    """How ``improve`` tunes: like the options of ``foreread tune`` with these names."""

    __repr__ = brief

    budget: Budget
    scenarios: tuple[str, ...] = (IDLE,)
    genes: Mapping[str, Sequence[Allele]] = field(default_factory=dict)


@dataclass
class Job:
    """One start to improve, and where the results are.

    ``loads`` and ``weights``: other readers and writers, for which the window is predicted, too.
    """

    folder: Path
    run: RunOptions
    target: str = LOCAL
    identity: Path | None = None
    tune: TuneWish | None = None
    loads: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    wait_s: float = 0.0
    watch: Watch = field(default_factory=Watch)
    streams: Streams = field(default_factory=Streams)  # where the output of the command goes

    @property
    def run_quietly(self) -> RunOptions:
        """The run with its output in ``streams``."""
        return replace(self.run, streams=self.streams)

    @property
    def capture(self) -> Path:
        """The capture's folder."""
        return self.folder / CAPTURE

    @property
    def advice(self) -> Path:
        """The folder of the advice and its lists."""
        return self.folder / ADVICE

    @property
    def tuning(self) -> Path:
        """The file of the tuning."""
        return self.folder / TUNING

    @property
    def report(self) -> Path:
        """The folder of the report."""
        return self.folder / REPORT

    @property
    def boot(self) -> Path:
        """The folder of the boot script."""
        return self.folder / BOOT

    @property
    def question(self) -> Question:
        """How the start is predicted."""
        return Question(loads=self.loads, weights=self.weights)

    @property
    def load_words(self) -> list[str]:
        """The options that name the loads and their weights."""
        return load_words(self.loads, self.weights)

    @property
    def condition_words(self) -> list[str]:
        """The options that name all that the prediction is about, the board's memory included."""
        loads = self.prediction.loads if self.is_predicted else None
        return self.load_words if loads is None else loads.words

    @property
    def is_predicted(self) -> bool:
        """Whether the prediction was made already."""
        return "prediction" in self.__dict__

    def recorded(self) -> Metadata:
        """Return the metadata of the capture; without any fact until there is a complete one."""
        return read(self.capture)[0] if (self.capture / METADATA).is_file() else NO_METADATA

    @cached_property
    def recording(self) -> Recording:
        """The capture, read once."""
        return load(self.capture)

    @cached_property
    def prediction(self) -> Prediction:
        """Every window, predicted once; with the memory of the board, if that may not suffice."""
        prediction = self.question.predicted(self.recording)
        available = lacking_kib(prediction.starts, prediction.bands)
        if available is None:
            return prediction
        loads = (*self.loads, f"{MEMORY}{size_word(available)}")
        return replace(self.question, loads=loads).predicted(self.recording)

    def forget(self) -> None:
        """Read the capture again when it is needed next: it was recorded again, or has results."""
        self.__dict__.pop("recording", None)

    def forget_prediction(self) -> None:
        """Predict when it is needed next: the start was recorded again."""
        self.__dict__.pop("prediction", None)

    def advised(self) -> AdviceDocument | None:
        """Return the table of remedies; None if it was not written."""
        path = self.advice / DOCUMENT
        if not path.is_file():
            return None
        return read_document(path, AdviceDocument, ForereadError, "write the advice again")

    def candidates(self) -> list[tuple[int, AdviceRow]]:
        """Return the rows that runs can measure and the boot script can apply, best first.

        A list comes before a window only if it is faster by ``WINDOW_FIRST``.
        """
        advice = self.advised()
        rows = [row for row in enumerate(advice.rows if advice else [], 1) if by_script(row[1])]
        rows.sort(key=lambda row: row[1].seconds * (WINDOW_FIRST if row[1].kind == "window" else 1))
        return rows[:MOST_TRIED]

    def tuned(self) -> Results | None:
        """Return the results of the tuning; None if there are none, or no tuning is wanted."""
        wanted = self.tune is not None and self.tuning.is_file()
        return read_results(self.tuning) if wanted else None

    def measured(self, row: AdviceRow) -> Confirmation | None:
        """Return the latest result about a row of advice in the capture; None if there is none."""
        capture, trial = self.recorded(), row.trial
        if trial is None:
            return None
        results = stored(capture) if trial.listing is None else stored_changes(capture)
        change = "" if trial.listing is None else row.what[:MOST_CHANGE]
        same = [
            result
            for result in results
            if (result.scenario, result.change) == (IDLE, change)
            and result.proposed_kb in (trial.read_ahead_kb, result.present_kb)
            and (result.proposed_kb == result.present_kb) == (trial.read_ahead_kb is None)
        ]
        return same[-1] if same else None

    def judged(self, row: AdviceRow) -> Confirmation | None:
        """Return the result about a row; None if there is none, or if more runs may decide it."""
        result = self.measured(row)
        return None if result is None or is_open(result) else result


def is_open(of: Confirmation) -> bool:
    """Return whether an interruption left a result undecided: it has fewer runs than allowed."""
    return of.outcome == "undecided" and of.runs < MOST_RUNS


def by_script(row: AdviceRow) -> bool:
    """Return whether the boot script can apply a row of advice: a window, a list, or both."""
    trial = row.trial
    return trial is not None and not (trial.later or trial.settings or trial.advice)


def measured_of(of: Confirmation) -> ImproveMeasured:
    """Return the part of a result that the answer shows."""
    now, then = mean_seconds(of.pairs)
    return ImproveMeasured(
        outcome=of.outcome,
        pairs=len(of.pairs),
        seconds_now=now,
        seconds=then,
        gain=of.gain,
        low=of.low,
        high=of.high,
    )
