"""Makes one command, or the starts of a suite, faster: every step from the check to the script.

Each step is a command line of foreread that also works alone, and goes through the same function.
A step that was done before, for the same command on the same board, is kept.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from foreread.analyzer.ingest.arguments import StrPath
from foreread.boards.base.brief import brief
from foreread.boards.base.document import read_document
from foreread.boards.base.interrupts import Interrupted, orderly_exit
from foreread.boards.base.outputs import check_folder
from foreread.boards.base.written import write_whole
from foreread.boards.open import LOCAL
from foreread.checks import Command, checked_path, checked_run, key_of
from foreread.documents.improve import ImproveDocument, ImproveStep, State
from foreread.error import ERRORS, ArgumentError, ForereadError
from foreread.improving.answer import answered
from foreread.improving.job import MOST_TRIED, OUTPUT, Job, TuneWish, Watch
from foreread.improving.steps import Step, steps_of
from foreread.improving.suite import SuiteJob, suite_answered, suite_steps
from foreread.recording.words import command_line, target_words, words_of
from foreread.tracer.runs.options import Streams
from foreread.version import VERSION

DOCUMENT = "improve.json"
_OTHER = "give another folder with -o"
Answer = Callable[[ImproveDocument], ImproveDocument]


@dataclass(frozen=True, repr=False)
class Improved:
    """The results so far; ``failed`` is the first error of a step, None without errors."""

    __repr__ = brief

    document: ImproveDocument
    failed: BaseException | None = None

    def to_json(self) -> str:
        """Return improve.json."""
        return self.document.to_json()


def improve(
    run: Command | None,
    output: StrPath,
    *,
    suite: StrPath | None = None,
    target: str = LOCAL,
    identity: StrPath | None = None,
    tune: TuneWish | None = None,
    loads: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    wait_s: float = 0.0,
    watch: Watch | None = None,
) -> Improved:
    """Record a start, rank all remedies, confirm the best one by runs, and write its boot script.

    The folder gets the capture, the advice with its lists, the report, the boot script and
    improve.json, and in output.txt what the command prints. Called again, it goes on where it was
    interrupted.

    Args:
        run: the words of the command, or RunOptions; None with a suite.
        output: the folder of the results.
        suite: path of a suite; its starts are improved instead of one command.
        target: the machine, as in :func:`foreread.record`; a suite names its boards itself.
        identity: private key that logs in to an ssh target.
        tune: also tune the other settings; None: do not.
        loads: other readers and writers, for which the window is predicted, too: names of
            scenarios, or paths of captures with a load.
        weights: of loads, by name ("idle" is one), that do not count once.
        wait_s: how long to wait for another foreread that holds the machine's settings.
        watch: is called with each step, and with its progress.

    Raises:
        ArgumentError: arguments that make no sense.
        ForereadError: the folder has the results of another command, or is in use.
        KeyboardInterrupt, SystemExit: stopped, after the folder has what was reached.
    """
    folder, seen = checked_path(output, "output"), watch or Watch()
    beside = tuple(loads), dict(weights or {})
    plan = _plan(run, folder, suite, target, identity, tune, beside, wait_s, seen)
    check_folder(folder)
    with orderly_exit(), _held(folder):
        document = _begun(folder, plan.document)
        with (folder / OUTPUT).open("ab", buffering=0) as output_of_runs:
            plan.job.streams = Streams(output_of_runs.fileno(), output_of_runs.fileno())
            return _Walk(folder, plan, seen, document).go()


def command_lines(
    run: Command | None,
    output: StrPath,
    *,
    suite: StrPath | None = None,
    target: str = LOCAL,
    identity: StrPath | None = None,
    tune: TuneWish | None = None,
    loads: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
) -> list[str]:
    """Return the command lines that :func:`improve` would run, as far as they are known.

    Steps that would be kept are left out. What the runs show may change the last ones.
    """
    folder = checked_path(output, "output")
    beside = tuple(loads), dict(weights or {})
    plan = _plan(run, folder, suite, target, identity, tune, beside, 0.0, Watch())
    walk = _Walk(folder, plan, Watch(), _stored(folder, plan.document) or plan.document)
    return [
        command_line(step.words_now())
        for step in plan.steps
        if step.expected() and walk.kept(step) is None
    ]


def read_improved(output: StrPath) -> ImproveDocument | None:
    """Return the document of a folder; None if there is none. Raises ForereadError."""
    path = Path(output) / DOCUMENT
    if not path.is_file():
        return None
    return read_document(path, ImproveDocument, ForereadError, _OTHER)


@dataclass(frozen=True)
class _Plan:
    """The steps, what identifies them, and how the answer is made of their results."""

    document: ImproveDocument
    job: Job | SuiteJob
    steps: Sequence[Step]
    answer: Answer
    is_ready: Callable[[], bool]  # whether the answer takes no time


def _plan(
    run: Command | None,
    folder: Path,
    suite: StrPath | None,
    target: str,
    identity: StrPath | None,
    tune: TuneWish | None,
    beside: tuple[tuple[str, ...], Mapping[str, float]],
    wait_s: float,
    watch: Watch,
) -> _Plan:
    """Return the plan of a command or of a suite; raises ArgumentError unless it is one of them."""
    if suite is not None:
        _check_suite(run, target, tune, beside[0])
        of = SuiteJob(folder, checked_path(suite, "suite"), wait_s, watch)
        named = ImproveDocument(
            foreread=VERSION, command=[], options=[], suite=str(of.path), steps=[]
        )
        return _Plan(
            named,
            of,
            [*suite_steps(of)],
            lambda document: suite_answered(of, document),
            lambda: of.is_predicted,
        )
    if run is None:
        raise ArgumentError("no command is given", "give the words of a command, or a suite")
    options, key = checked_run(run), key_of(identity)
    job = Job(folder, options, target, key, tune, *beside, wait_s, watch)
    words = [*target_words(target, key), *words_of(options)]
    named = ImproveDocument(
        foreread=VERSION, command=list(options.command), options=words, suite=None, steps=[]
    )
    steps = [*steps_of(job, MOST_TRIED)]
    return _Plan(
        named,
        job,
        steps,
        lambda document: answered(job, document, steps[-1].words),
        lambda: job.is_predicted,
    )


def _check_suite(
    run: Command | None, target: str, tune: TuneWish | None, loads: Sequence[str]
) -> None:
    for given, what in (
        (run is not None, "a command"),
        (target != LOCAL, "a target"),
        (tune is not None, "a tuning"),
        (bool(loads), "a load"),
    ):
        if given:
            raise ArgumentError(
                f"a suite names its starts and boards itself, and {what} is given, too",
                "give the suite alone",
            )


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Keep other calls away from a folder, which is made; raises ForereadError."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ForereadError(
                f"another foreread improve works in {folder}", f"wait for its end, or {_OTHER}"
            ) from error
        yield
    finally:
        os.close(descriptor)


def _stored(folder: Path, wanted: ImproveDocument) -> ImproveDocument | None:
    """Return the document of a folder that has results of the same command; None if it is new.

    Raises ForereadError for a folder of another command, and for one with other files.
    """
    document = read_improved(folder)
    if document is None:
        names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
        if names:
            raise ForereadError(
                f"{folder} has other files ({names[0]})", "give a new or empty folder with -o"
            )
        return None
    for what, stored, given in (
        ("another suite", document.suite, wanted.suite),
        ("another command", document.command, wanted.command),
        ("other options of the run", document.options, wanted.options),
    ):
        if stored != given:
            was = shlex.join(stored) if isinstance(stored, list) else stored
            raise ForereadError(
                f"{folder} has the results of {what}: {was or 'none'}",
                f"{_OTHER}, or repeat the command line that made it",
            )
    return document


def _begun(folder: Path, wanted: ImproveDocument) -> ImproveDocument:
    """Return the document to go on from; a new folder gets one."""
    document = _stored(folder, wanted)
    if document is None:
        _save(folder, wanted)
    return document or wanted


def _save(folder: Path, document: ImproveDocument) -> None:
    write_whole(folder / DOCUMENT, f"{document.to_json()}\n".encode())


class _Walk:
    """The steps in their order; improve.json has what was reached after each."""

    def __init__(self, folder: Path, plan: _Plan, watch: Watch, document: ImproveDocument) -> None:
        self._folder, self._plan, self._watch = folder, plan, watch
        self._document = document
        same = document.foreread == VERSION
        self._earlier = {step.command: step for step in document.steps} if same else {}
        self._steps: list[ImproveStep] = []
        self._failed: BaseException | None = None

    def go(self) -> Improved:
        """Do the steps, and return what was reached."""
        for step in self._plan.steps:
            lost = self._failed is not None and step.needs_board
            if lost or not step.wanted():
                continue
            if (entry := self.kept(step)) is not None:
                self._watch.ended(entry)
                self._add(entry)
                continue
            self._do(step)
        self._earlier = {}
        self._update(self._plan.answer(self._document))
        return Improved(self._document, self._failed)

    def kept(self, step: Step) -> ImproveStep | None:
        """Return the entry of a step that need not be done again; None if it must be done."""
        if step.is_quick:
            return None
        entry = self._earlier.get(command_line(step.words()))
        if entry is not None and self._holds(entry, step):
            return structs.replace(entry, state="kept")
        result = step.whole()
        return None if result is None else self._entry(step, "kept", 0.0, result)

    def _holds(self, entry: ImproveStep, step: Step) -> bool:
        """Return whether a step was done, from the same results, and its outputs are there."""
        done = entry.state in ("done", "kept") and entry.rests_on == step.rests_on()
        return done and all((self._folder / path).exists() for path in entry.outputs)

    def _do(self, step: Step) -> None:
        self._watch.begun(step.name)
        began_s = time.monotonic()

        def entry(state: State, result: str) -> ImproveStep:
            return self._entry(step, state, time.monotonic() - began_s, result)

        try:
            ended = entry("done", step.run())
        except (KeyboardInterrupt, Interrupted) as error:
            self._interrupted(entry("interrupted", str(error) or "stopped by Ctrl-C"))
            raise
        except (*ERRORS, OSError) as error:
            ended = entry("failed", str(error))
            self._failed = self._failed or error
        self._watch.ended(ended)
        self._add(ended)

    def _interrupted(self, entry: ImproveStep) -> None:
        """Save what was reached."""
        self._watch.ended(entry)
        self._add(entry)
        if self._plan.is_ready():
            self._update(self._plan.answer(self._document))

    def _entry(self, step: Step, state: State, seconds: float, result: str) -> ImproveStep:
        done = state in ("done", "kept")
        return ImproveStep(
            name=step.name,
            command=command_line(step.words()),
            state=state,
            seconds=round(seconds, 3),
            result=result,
            outputs=[str(path.relative_to(self._folder)) for path in step.outputs() if done],
            rests_on=step.rests_on(),
        )

    def _add(self, entry: ImproveStep) -> None:
        """Add an entry; entries of steps that an interruption may leave undone stay after it."""
        self._steps.append(entry)
        self._earlier.pop(entry.command, None)
        self._update(self._document)

    def _update(self, document: ImproveDocument) -> None:
        steps = [*self._steps, *self._earlier.values()]
        self._document = structs.replace(document, foreread=VERSION, steps=steps)
        _save(self._folder, self._document)
