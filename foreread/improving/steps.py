"""The steps of ``improve`` for one start: each is a command line of foreread, and does its work."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from foreread.analyzer.advise.advise import DOCUMENT, Advice, advise
from foreread.analyzer.advise.document import AdviceRow
from foreread.analyzer.apply.make import script
from foreread.analyzer.confirm.text import gain_text
from foreread.analyzer.predict.prediction import Verdict
from foreread.analyzer.predict.remedy import record_again
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.boards.base.counted import plural
from foreread.boards.open import LOCAL, open_target
from foreread.error import ERRORS
from foreread.improving.answer import Chosen, chosen
from foreread.improving.job import MOST_RUNS, Job, Watch, is_open
from foreread.machine.diagnosis import diagnose
from foreread.measuring.advice_row import row_of_advice
from foreread.measuring.confirm import confirm
from foreread.measuring.options import ConfirmOptions
from foreread.question import Question
from foreread.recording.start import record
from foreread.recording.words import target_words, words_of
from foreread.tracer.error import RecordError
from foreread.tracer.formats.boot_files import SCRIPT
from foreread.tracer.formats.capture import METADATA, NO_METADATA, Metadata
from foreread.tuning.campaign import tune
from foreread.tuning.options import TuneOptions
from foreread.tuning.prior import beside_scenarios, proposed_settings
from foreread.version import VERSION

MOST_SHOWN = 60  # characters of a remedy in the line of a step
MOST_RECORDINGS = 3  # in one call, until the start can be predicted


@dataclass(frozen=True)
class Step:
    """One step of ``improve``: its name, its command line, its outputs, and what it does."""

    name = ""
    needs_board = False
    is_quick = False  # done in every call: it takes seconds, and keeps what was measured

    def words(self) -> list[str]:
        """Return the command line that does this step alone, without "foreread"."""
        raise NotImplementedError

    def words_now(self) -> list[str]:
        """Return the command line to type now, which may continue an interrupted step."""
        return self.words()

    def outputs(self) -> list[Path]:
        """Return what the step writes."""
        return []

    def rests_on(self) -> str:
        """Return the identity of the earlier results that the outputs rest on."""
        return ""

    def wanted(self) -> bool:
        """Return whether the step is to be done, after the steps before it."""
        return True

    def expected(self) -> bool:
        """Return whether the step will be done, as far as is known before the steps before it."""
        return True

    def whole(self) -> str | None:
        """Return the result of a step that was done, though no entry says so; None: it was not."""
        return None

    def run(self) -> str:
        """Do the step, and return its result in words; raises as the function that does it."""
        raise NotImplementedError


@dataclass(frozen=True)
class _OfStart(Step):
    """A step of one start."""

    job: Job


@dataclass(frozen=True)
class _OnCapture(_OfStart):
    """A step that begins from the capture."""

    def wanted(self) -> bool:
        return self.job.recorded().created is not None

    def rests_on(self) -> str:
        return " ".join([self.job.recorded().created or "", *self.job.load_words]).strip()


class _Check(_OfStart):
    """Whether the machine can be recorded."""

    name = "check"
    needs_board = True

    def words(self) -> list[str]:
        return ["doctor", *target_words(self.job.target, self.job.identity)]

    def whole(self) -> str | None:
        return "recorded before" if _Record(self.job).whole() else None

    def run(self) -> str:
        return check_machine(self.job.target, self.job.identity, self.job.watch)


class _Record(_OfStart):
    """One cold run; if its recording is of no use (the machine was busy), another one."""

    name = "record"
    needs_board = True

    def words(self) -> list[str]:
        job = self.job
        options = [*target_words(job.target, job.identity), *words_of(job.run)]
        return ["record", *options, "-o", str(job.capture), "--", *job.run.command]

    def outputs(self) -> list[Path]:
        return [self.job.capture]

    def whole(self) -> str | None:
        capture = self.job.recorded()
        same = (capture.command, capture.foreread) == (list(self.job.run.command), VERSION)
        return _recorded(capture) if same else None

    def run(self) -> str:
        for number in range(1, MOST_RECORDINGS + 1):
            capture = self._recorded_once()
            unpredicted = _no_use(self.job)
            if unpredicted is None or number == MOST_RECORDINGS:
                break
            self.job.watch.tell(f"{unpredicted.why}; records again")
        times = f", recorded {plural(number, 'time')}" if number > 1 else ""
        return f"{_recorded(capture)}{times}"

    def _recorded_once(self) -> Metadata:
        job = self.job
        with _replaced(job.capture):
            capture = record(
                job.run_quietly,
                job.capture,
                target=job.target,
                identity=job.identity,
                wait_s=job.wait_s,
                tell=job.watch.tell,
            )
            if capture.ended_by == "signal":
                raise KeyboardInterrupt
        job.forget()
        job.forget_prediction()
        return capture


class _Predict(_OnCapture):
    """The seconds of every window."""

    name = "predict"

    def words(self) -> list[str]:
        return ["predict", str(self.job.capture), *self.job.load_words]

    def run(self) -> str:
        verdict = self.job.prediction.verdict
        if verdict.action == "measure":
            raise self._unpredicted(verdict)
        at = "" if verdict.read_ahead_kb is None else f" read_ahead_kb={verdict.read_ahead_kb}"
        return f"{verdict.action}{at}"

    def _unpredicted(self, verdict: Verdict) -> RecordError:
        """Return the error of a verdict that wants a measurement.

        A recording that is of no use is put aside, so that the next call records again.
        """
        if _no_use(self.job) is None:
            return RecordError(verdict.why, verdict.remedy or "foreread sweep -o SWEEP -- COMMAND")
        old = _put_aside(self.job.capture)
        self.job.forget()
        return RecordError(
            f"{verdict.why} (the recording is now in {old})",
            "type the same command line again while the machine does nothing else: it records anew",
        )


class _Advise(_OnCapture):
    """Every remedy, ranked by predicted seconds."""

    name = "advise"

    def wanted(self) -> bool:
        job = self.job
        measure = job.is_predicted and job.prediction.verdict.action == "measure"
        return super().wanted() and not measure

    def words(self) -> list[str]:
        return [
            "advise",
            str(self.job.capture),
            *self.job.condition_words,
            "-o",
            str(self.job.advice),
        ]

    def outputs(self) -> list[Path]:
        return [self.job.advice / DOCUMENT]

    def run(self) -> str:
        job = self.job
        advice = advise(
            job.recording, step=job.watch.tell, prediction=job.prediction, output=job.advice
        )
        shutil.rmtree(job.advice, ignore_errors=True)  # lists of an earlier capture
        advice.write(job.advice)
        rows = advice.document.rows
        if not rows:
            return "no remedy saves more than its band"
        return f"{remedies_text(len(rows))}, the best: {_cut(rows[0].what)}"


@dataclass(frozen=True)
class _Confirm(_OnCapture):
    """Cold runs without and with a remedy, in alternation.

    ``place``: the place of the remedy among those that can be measured, from 0. A remedy is
    measured if the runs did not confirm those before it.
    """

    place: int

    name = "confirm"
    needs_board = True

    def wanted(self) -> bool:
        candidates = self.job.candidates()
        before = [self.job.judged(row) for _, row in candidates[: self.place]]
        ended = all(result is not None and result.outcome != "confirmed" for result in before)
        return self.place < len(candidates) and ended

    def expected(self) -> bool:
        return self.wanted() or (self.place == 0 and self.job.advised() is None)

    @property
    def row(self) -> tuple[int, AdviceRow | None]:
        """The number and the content of the row of advice; the first one until there is advice."""
        candidates = self.job.candidates()
        return candidates[self.place] if self.place < len(candidates) else (self.place + 1, None)

    def words(self) -> list[str]:
        job, (number, _) = self.job, self.row
        table = ["--advice", str(job.advice), "--row", str(number)]
        return ["confirm", str(job.capture), *table, "--budget", str(MOST_RUNS), *_key(job)]

    def words_now(self) -> list[str]:
        return [*self.words(), *(["--resume"] if self._continues() else [])]

    def _continues(self) -> bool:
        _, row = self.row
        result = self.job.measured(row) if row else None
        return result is not None and is_open(result)

    def whole(self) -> str | None:
        number, row = self.row
        result = self.job.judged(row) if row else None
        return None if result is None else f"row {number}: {result.outcome}, {gain_text(result)}"

    def run(self) -> str:
        job, (number, _) = self.job, self.row
        done = confirm(
            job.capture,
            ConfirmOptions(
                row=row_of_advice(job.advice, number),
                runs=MOST_RUNS,
                resume=self._continues(),
                wait_s=job.wait_s,
                streams=job.streams,
            ),
            identity=job.identity,
            tell=job.watch.tell,
            progress=job.watch.pair,
        )
        job.forget()
        if done.interrupted:
            raise KeyboardInterrupt
        return f"row {number}: {done.result.outcome}, {gain_text(done.result)}"


class _Tune(_OnCapture):
    """The other settings, tuned by measured runs."""

    name = "tune"
    needs_board = True

    def wanted(self) -> bool:
        return self.expected() and super().wanted()

    def expected(self) -> bool:
        return self.job.tune is not None

    def words(self) -> list[str]:
        return self._words(["--capture", str(self.job.capture)])

    def words_now(self) -> list[str]:
        return self._words(["--resume"]) if self.job.tuning.exists() else self.words()

    def _words(self, begin: list[str]) -> list[str]:
        job, wish = self.job, self.job.tune
        assert wish is not None
        loads = [word for name in wish.scenarios for word in ("--scenario", name)]
        genes = ["--genes", _genes_text(job)] if wish.genes else []
        disks = [word for name in self._disks() for word in ("--device", name)]
        options = [*target_words(job.target, job.identity), *loads, *genes, *disks]
        ending = [*words_of(job.run), "--budget", budget_text(wish.budget)]
        return [
            *("tune", *begin, *options, *ending, "-o", str(job.tuning)),
            *("--", *job.run.command),
        ]

    def outputs(self) -> list[Path]:
        return [self.job.tuning]

    def _disks(self) -> list[str]:
        """Return the disks that the start reads: its command may be on another one."""
        if self.job.recorded().created is None:
            return []
        return [curve.name for curve in self.job.prediction.worth_setting]

    def run(self) -> str:
        job, wish = self.job, self.job.tune
        assert wish is not None
        again = job.tuning.exists()
        proposal = None
        if not again:
            alone = (
                job.prediction
                if job.prediction.loads is None
                else Question().predicted(job.recording)
            )
            prediction = beside_scenarios(alone, wish.scenarios, {})
            proposal = proposed_settings(
                job.recording, prediction, Question(), list(wish.genes), job.watch.tell
            )
        results = tune(
            TuneOptions(
                run=job.run_quietly,
                scenarios=wish.scenarios,
                devices=tuple(self._disks()),
                target=job.target,
                identity=job.identity,
                genes=wish.genes,
                proposal=proposal,
                capture=NO_METADATA if again else job.recording.capture,
                budget=wish.budget,
                wait_s=job.wait_s,
            ),
            job.tuning,
            resume=again,
            tell=job.watch.tell,
            searching=job.watch.searching,
            confirming=job.watch.confirming,
        )
        runs = plural(len(results.search) + len(results.confirmation), "run")
        gains = results.confirmed.gains
        return f"{runs}, {plural(len(gains), 'setting')} to change"


class _Report(_OnCapture):
    """The report, with everything that was measured."""

    name = "report"

    def words(self) -> list[str]:
        job = self.job
        measured = [str(job.tuning)] if job.tune is not None else []
        return ["report", str(job.capture), *measured, *job.condition_words, "-o", str(job.report)]

    def outputs(self) -> list[Path]:
        return [self.job.report / "index.html"]

    def rests_on(self) -> str:
        tuned = self.job.tuned()
        runs = "" if tuned is None else f", tuned in {len(tuned.search)}+{len(tuned.confirmation)}"
        return f"{super().rests_on()}{_results(self.job.recorded())}{runs}"

    def run(self) -> str:
        from foreread.analyzer.report.make import report  # noqa: PLC0415  (matplotlib)

        job, advice = self.job, self.job.advised()
        files = report(
            job.recording,
            job.report,
            prediction=job.prediction,
            tuning=job.tuned(),
            advice=None if advice is None else Advice(advice),
            step=job.watch.tell,
            part=job.watch.part,
        )
        return str(files.html)


class _BootScript(_OnCapture):
    """The script that sets at each boot what was chosen."""

    name = "script"

    def wanted(self) -> bool:
        return self._chosen() is not None

    def expected(self) -> bool:
        return self.wanted() or self.job.advised() is None

    def _chosen(self) -> Chosen | None:
        return chosen(self.job)

    def words(self) -> list[str]:
        job, choice = self.job, self._chosen()
        if choice is None or choice.tuning is not None:
            source = (
                [str(job.capture), *job.condition_words] if choice is None else [str(job.tuning)]
            )
            return ["script", *source, "-o", str(job.boot)]
        window = [] if choice.window_kb is None else ["--read-ahead-kb", str(choice.window_kb)]
        listing = [] if choice.listing is None else ["--prefetch", str(choice.listing)]
        options = [*job.condition_words, *window, *listing]
        return ["script", str(job.capture), *options, "-o", str(job.boot)]

    def outputs(self) -> list[Path]:
        return [self.job.boot / SCRIPT]

    def rests_on(self) -> str:
        return f"{super().rests_on()}{_results(self.job.recorded())}"

    def run(self) -> str:
        job, choice = self.job, self._chosen()
        assert choice is not None
        shutil.rmtree(job.boot, ignore_errors=True)  # files of an earlier answer
        if choice.tuning is not None:
            written = script(choice.tuning, job.boot, tell=job.watch.tell)
        else:
            written = script(
                job.prediction,
                job.boot,
                capture=job.recorded(),
                read_ahead_kb=choice.window_kb,
                prefetch=choice.listing,
                tell=job.watch.tell,
            )
        return str(written.files[0])


def steps_of(job: Job, tried: int) -> Iterator[Step]:
    """Yield the steps in their order; up to ``tried`` remedies are measured."""
    yield from (_Check(job), _Record(job), _Predict(job), _Advise(job))
    yield from (_Confirm(job, place) for place in range(tried))
    yield from (_Tune(job), _Report(job), _BootScript(job))


def check_machine(target: str, identity: Path | None, watch: Watch) -> str:
    """Return the kernel and the recorder of a machine; RecordError if nothing records there."""
    with open_target(target, identity=identity, tell=watch.tell) as machine:
        diagnosis = diagnose(machine)
    if diagnosis.can_record:
        return f"Linux {diagnosis.kernel}, records with {diagnosis.backend}"
    wrong = [finding for finding in diagnosis.findings if not finding.ok and finding.remedy]
    why = f": {wrong[0].name}: {wrong[0].detail}" if wrong else ""
    raise RecordError(
        f"recording does not work on {'this machine' if target == LOCAL else target}{why}",
        wrong[0].remedy if wrong else "see `foreread doctor`",
    )


def budget_text(budget: Budget) -> str:
    """Return a budget as ``--budget`` and ``--tune`` read it."""
    if budget.evaluations is not None:
        return str(budget.evaluations)
    return f"{budget.seconds or 0:g}s"


def _genes_text(job: Job) -> str:
    """Return the genes as ``--genes`` reads them."""
    genes = job.tune.genes if job.tune else {}
    return ",".join(
        f"{name}={':'.join(map(str, alleles))}" if alleles else name
        for name, alleles in genes.items()
    )


def _no_use(job: Job) -> Verdict | None:
    """Return the verdict of a recording that cannot be predicted, but another one may be."""
    with suppress(*ERRORS):  # the step that predicts raises them
        verdict = job.prediction.verdict
        again = verdict.action == "measure" and verdict.remedy == record_again(job.recording)
        return verdict if again else None
    return None


def _old(capture: Path) -> Path:
    return capture.with_name(f"{capture.name}.old")


def _put_aside(capture: Path) -> Path:
    """Give a capture another name, in place of an earlier one, and return its path."""
    old = _old(capture)
    shutil.rmtree(old, ignore_errors=True)
    capture.rename(old)
    return old


@contextmanager
def _replaced(capture: Path) -> Iterator[None]:
    """Let a new capture replace one of another version of foreread; keep that if it fails."""
    old = _put_aside(capture) if (capture / METADATA).is_file() else _old(capture)
    try:
        yield
    except BaseException:
        shutil.rmtree(capture, ignore_errors=True)
        if old.is_dir():
            old.rename(capture)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _key(job: Job) -> list[str]:
    """Return the option of the ssh key; the capture names the target."""
    return [] if job.identity is None else ["--identity", str(job.identity.absolute())]


def _recorded(capture: Metadata) -> str:
    lost = plural(sum((capture.lost or {}).values()), "event")
    failed = f", exit status {capture.exit_status}" if capture.exit_status else ""
    return f"{capture.wall_seconds or 0.0:.3f} s without readahead, {lost} lost{failed}"


def _results(capture: Metadata) -> str:
    """Return when the results in the capture were made."""
    return "".join(f", {result.created}" for result in capture.confirmations)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1].rstrip()}…"


def remedies_text(number: int) -> str:
    """Return a number of remedies in words."""
    return "1 remedy" if number == 1 else f"{number} remedies"
