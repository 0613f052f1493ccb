"""One job on a target: its folder there, its script, its verbs, and its orderly end.

The script is all the shell files that the job needs, one after another. A guard process there owns
every change on the target, and restores it when this side has not called for ``lease_s`` of the
target's seconds.
"""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import shlex
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Self

from foreread.boards.base import guard
from foreread.boards.base.interrupts import uninterrupted
from foreread.boards.base.owner import owner_tag
from foreread.boards.base.scratch import prefix
from foreread.boards.error import BoardsError
from foreread.boards.target import LocalTarget, Result, Target, TargetError
from foreread.tracer.error import RecordError, TracerError
from foreread.tracer.runs.knobs import shell_functions

# Timeout of a step that only asks or starts something, sufficient for an emulated board on a busy
# host.
STEP_S = 240.0
SILENT_S = 10  # how long the guard waits for a silent host
_AHEAD_S = 2.0  # a clock that gains so much between two answers runs fast: an emulated board's
_MARGIN = 4.0


@dataclass(frozen=True)
class Fact:
    """One line of an answer: ``KEY VALUE``."""

    key: str
    value: str


class Job:
    """A job made of the shell files ``parts``; use it in a ``with`` block, which ends it.

    ``shell`` are the words that start the target's shell. The script is copied there from the
    job ``like``, if that has the same parts. Raises RecordError if the target reports an error,
    TargetError when it cannot be reached.
    """

    def __init__(
        self,
        target: Target,
        parts: Sequence[str],
        shell: Sequence[str] = ("sh",),
        like: Job | None = None,
    ) -> None:
        self.target = target
        self.folder = ""
        self.shell = list(shell)
        self._script = script((*parts, "verb.sh")).encode()
        self._like = like
        # The guard of a foreread that is killed ends the jobs that it has on this machine.
        self._is_here = type(target) is LocalTarget and target.root == Path("/")
        self._clock_rate: float = like._clock_rate if like else 1.0
        self._clocks: tuple[float, float] | None = None

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            if self._is_here:
                stack.enter_context(guard.guarded())
            self._begin()
            self._guarded = stack.pop_all()
        return self

    def _begin(self) -> None:
        token = secrets.token_hex(8)
        try:
            self._make_folder(token)
            self._bring_script()
        except BaseException as error:
            if self.folder or not isinstance(error, Exception):
                self._remove_folder(token)
            raise

    def _make_folder(self, token: str) -> None:
        words = self._place(token, *([owner_tag()] if self._is_here else []))
        answer = self._run(words, "looking for a working folder on the target")
        with making_sense("looking up its memory"):
            answers = {fact.key: fact.value for fact in facts(answer.stdout)}
            if not (answers["place"].startswith("/") and answers["place"].isprintable()):
                raise ValueError(answers["place"])
            self.saw_clock(float(answers["uptime"].split()[0]))
            self.folder = answers["place"]

    def _remove_folder(self, token: str) -> None:
        """Remove the folder of a job without its script, which has changed nothing yet.

        The target may not have named it: a job that is interrupted does not wait for the answer.
        """
        self.folder = ""
        with uninterrupted(), contextlib.suppress(TargetError, RecordError):
            self._run(self._place(token, "-"), "removing the working folder", SILENT_S)

    def _place(self, *words: str) -> list[str]:
        return [*self.shell, "-c", part("place.sh").decode(), "sh", *words]

    def __exit__(self, *_: object) -> None:
        with self._guarded:
            self.finish()

    def settings(self, values: Mapping[str, str], command: Sequence[str]) -> None:
        """Give the script its settings: shell variables by name, and the command's words."""
        self._push("settings", settings_file(values, command, self.shell))

    def bring(self, name: str) -> None:
        """Copy a shell file to the job's folder."""
        self._push(name, part(name))

    def give(self, name: str, content: bytes, mode: int = 0o600) -> None:
        """Write a file into the job's folder."""
        self._push(name, content, mode)

    def ask(
        self, *words: str, step: str, timeout_s: float = STEP_S, within_s: float | None = None
    ) -> list[Fact]:
        """Run a verb and return the facts that it prints; as ``raw``."""
        return facts(self.raw(*words, step=step, timeout_s=timeout_s, within_s=within_s).stdout)

    def raw(
        self,
        *words: str,
        step: str,
        timeout_s: float = STEP_S,
        within_s: float | None = None,
        program: str = "job.sh",
    ) -> Result:
        """Run a verb and return what it prints; ``step`` names it in errors.

        ``within_s``: within what time the target can expect the next call, ``timeout_s`` if None.
        ``program``: another script in the job's folder, which renews the lease.
        """
        lease = str(self.lease_s(timeout_s if within_s is None else within_s))
        return self._run([*self.shell, f"{self.folder}/{program}", lease, *words], step, timeout_s)

    def lease_s(self, within_s: float) -> int:
        """Return the lease of the target's guard, in seconds of the target's clock."""
        return math.ceil((within_s + SILENT_S) * self._clock_rate)

    def saw_clock(self, uptime_s: float) -> None:
        """Compare the target's clock with ours; a fast one makes the lease longer.

        An emulated board may skip idle time: ten of its seconds may take no time here.
        """
        now_s = time.monotonic()
        if self._clocks:
            there_s, here_s = uptime_s - self._clocks[0], now_s - self._clocks[1]
            if there_s > here_s + _AHEAD_S:
                self._clock_rate = max(self._clock_rate, _MARGIN * there_s / max(here_s, 1e-2))
        self._clocks = uptime_s, now_s

    def finish(self) -> None:
        """End the job on the target: restore everything and remove its folder."""
        folder, self.folder = self.folder, ""
        if not folder:
            return
        with uninterrupted(), contextlib.suppress(TargetError, RecordError):
            self.folder = folder
            self.raw("finish", step="restoring the target")
        self.folder = ""

    def _bring_script(self) -> None:
        if self._like is None:
            self._push("job.sh", self._script)
        else:
            self._like.raw("copy_script", self.folder, step="copying the script on the target")

    def _push(self, name: str, content: bytes, mode: int = 0o600) -> None:
        with tempfile.NamedTemporaryFile(prefix=prefix()) as file:
            file.write(content)
            file.flush()
            try:
                self.target.push(Path(file.name), f"{self.folder}/{name}", mode)
            except OSError as error:
                raise RecordError(
                    f"{self.folder} on the target cannot be written: {error.strerror}",
                    "make room in the target's memory",
                ) from error

    def _run(self, words: Sequence[str], step: str, timeout_s: float = STEP_S) -> Result:
        try:
            done = self.target.run(words, timeout_s=timeout_s)
        except TargetError as error:
            raise TargetError(f"{step}: {error}", error.remedy) from error
        if done.status:
            for fact in facts(done.stdout):
                if fact.key == "error":
                    message, _, remedy = fact.value.partition("|")
                    raise RecordError(message, remedy)
            last = os.fsdecode(done.stderr.strip().rpartition(b"\n")[2]) or "without a word"
            raise RecordError(
                f"{step} failed with status {done.status}: {last}",
                "the target needs a POSIX shell, such as busybox ash",
            )
        return done


def settings_file(
    values: Mapping[str, str], command: Sequence[str], shell: Sequence[str] = ("sh",)
) -> bytes:
    """Return the settings of a script: shell variables by name, and the command's words."""
    assignments = [f"{name}={shlex.quote(value)}" for name, value in values.items()]
    assignments += [f"shell={shlex.quote(shlex.join(shell))}"]
    words = shlex.join(command)
    return os.fsencode("\n".join([*assignments, f'run_command() {{ "$@" {words}; }}', ""]))


def facts(answer: bytes) -> list[Fact]:
    """Return the facts in the output of a verb."""
    lines = os.fsdecode(answer).split("\n")
    return [Fact(*line.split(" ", 1)) for line in lines if " " in line]


@contextlib.contextmanager
def making_sense(of: str) -> Iterator[None]:
    """Turn any error while an untrusted answer is parsed into a RecordError."""
    try:
        yield
    except (ValueError, LookupError, TypeError, ArithmeticError, OSError) as error:
        if isinstance(error, (TracerError, BoardsError)):
            raise
        raise RecordError(
            f"cannot parse the target's reply: {of} ({error})",
            "check that its shell prints nothing at log-in, that /proc and /sys are mounted, and "
            "that it has free memory",
        ) from error


def script(parts: Sequence[str]) -> str:
    """Return the shell files ``parts`` as one script, with the functions for knobs."""
    return "\n".join([shell_functions(), *(part(name).decode() for name in parts)])


def part(name: str) -> bytes:
    """Return a shell file of this package."""
    return (resources.files("foreread.tracer.remote") / name).read_bytes()
