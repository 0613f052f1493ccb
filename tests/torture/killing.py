"""One case: a command is started, killed at a random moment, and the machine compared."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field

import clock
import state
from commands import WAIT_S, Begun, Commands
from memory import memory_group

from bench import OTHERS, Bench
from foreread.boards.base.guard import is_guard

SIGNALS = ("KILL", "KILL", "KILL", "TERM", "HUP", "PIPE")
VICTIMS = ("parent", "parent", "group", "group", "everything", "guard first")
PATIENCE_S = 2 * WAIT_S  # for a command that was asked to end
GUARDS_S = 60.0  # for the guard to restore; nothing else does until then
# Commands that do not end by themselves: within what time they have done all that they do.
ENDLESS_S = {"tune": 3.0, "fingerprint": 4.5}
RECORD_S = 2.0  # a recording, on the machine on which these are so
MEASURED = ("record", "sweep", "confirm", "boot-script")
MEMORY, REMOTE = "memory", "remote"
LIMITED = ("record", "sweep", "confirm", "tune")  # what is put into a group of little memory
CLOCK_SHARE = 0.1  # of the cases that run under a clock that jumps


@dataclass
class Case:
    """One kill and its result."""

    number: int
    command: str
    signal: str
    victim: str
    moment_s: float
    part: str = ""
    alive: bool = False
    in_force: bool = False  # it was killed while something was changed
    recovery: str = ""
    seconds: float = 0.0  # of the whole case
    changes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing was left changed, and every output is as it must be."""
        return not self.changes and not self.problems

    def line(self) -> str:
        """Return the case as one line."""
        when = f"{self.moment_s:6.2f} s"
        alive = "changed" if self.in_force else "alive" if self.alive else "ended"
        result = "ok" if self.passed else f"LEFT {self.changes + self.problems}"
        return (
            f"{self.number:5} {self.command:12} {self.signal:5} {self.victim:12} {when} {alive:7} "
            f"{self.recovery:10} {self.seconds:5.1f} s {result}"
        )

    def document(self) -> dict[str, object]:
        """Return it for the record."""
        return {**asdict(self), "passed": self.passed}


class Killer:
    """Makes cases on a bench; seed and number of a case make the same one."""

    def __init__(self, bench: Bench, seed: int, tell: Callable[[str], None] = print) -> None:
        self.bench = bench
        self._seed = seed
        self.rng = random.Random(seed)
        self.commands = Commands(bench, self.rng)
        self.lasts_s = dict(ENDLESS_S)
        self._tell = tell

    def measure(self, parts: Sequence[str]) -> None:
        """Learn how long each command takes on this machine."""
        used = {*parts, *(LIMITED if MEMORY in parts else ())}
        for name in sorted(used & {*MEASURED, REMOTE}):
            begun = self.commands.start[name]()
            began = time.monotonic()
            begun.process.communicate()
            self.lasts_s[name] = self.lasts_s[begun.kind] = time.monotonic() - began
            begun.tidy()
        slower = max(1.0, self.lasts_s.get("record", RECORD_S) / RECORD_S)
        for name in ENDLESS_S:
            self.lasts_s[name] *= slower

    def _sleep(self, begun: Begun, fraction: float) -> bool:
        """Wait for that part of its life; return whether it still runs.

        Follow a machine that gets slower or faster: a few of the kills shall come too late.
        """
        lasts_s = self.lasts_s.setdefault(begun.kind, self.lasts_s[begun.kind.split()[0]])
        began = time.monotonic()
        with suppress(subprocess.TimeoutExpired):
            begun.process.wait(fraction * lasts_s)
        alive = begun.process.poll() is None
        if begun.ends:
            lasted_s = time.monotonic() - began
            self.lasts_s[begun.kind] = 1.015 * lasts_s if alive else (lasts_s + lasted_s) / 2
        return alive

    def case(self, number: int, part: str) -> Case:
        """Kill a command once."""
        self.rng.seed(f"{self._seed} {number}")
        if part == MEMORY:
            return self._short_of_memory(number)
        return self._killed(number, part)

    def _short_of_memory(self, number: int) -> Case:
        """Let a command have no more memory at a random moment; the kernel kills some process."""
        name, fraction = self.rng.choice(LIMITED), self.rng.random()
        made = Case(number, name, "OOM", "group", 0.0, MEMORY)
        began = time.monotonic()
        with memory_group(f"torture-{self.bench.token}-{number}") as group:
            with self.bench.prefixed(*group.words):
                begun = self.commands.start[name]()
            with begun.around:
                self._hit(made, begun, fraction, group.limit)
            self._recover(made)
        return self._checked(made, begun, began)

    def _killed(self, number: int, name: str) -> Case:
        how = self.rng.choice(SIGNALS)
        victim = self.rng.choice(VICTIMS) if how == "KILL" else "parent"
        fraction = self.rng.random()
        jumps = name != "boot-script" and self.rng.random() < CLOCK_SHARE
        made = Case(number, f"{name}, clock" if jumps else name, how, victim, 0.0, name)
        began = time.monotonic()
        with self.bench.prefixed(*(clock.make(self.bench.scratch) if jumps else ())):
            begun = self.commands.start[name]()
        with begun.around:
            self._hit(made, begun, fraction, lambda: self._kill(made, begun))
        begun.tidy()
        self._recover(made)
        return self._checked(made, begun, began)

    def _hit(self, made: Case, begun: Begun, fraction: float, hit: Callable[[], object]) -> None:
        """Do it after that part of the command's life, and wait for its end."""
        began = time.monotonic()
        made.alive = self._sleep(begun, fraction)
        made.moment_s = round(time.monotonic() - began, 3)
        made.in_force = made.alive and state.in_force(self.bench.token)
        hit()
        if not begun.ends and made.signal in ("PIPE", "OOM"):
            self._later(begun.process)
        self._wait(made, begun.process)

    def _checked(self, made: Case, begun: Begun, began: float) -> Case:
        made.problems += begun.check()
        made.seconds = round(time.monotonic() - began, 2)
        return made

    def _kill(self, made: Case, begun: Begun) -> None:
        process = begun.process
        if made.signal == "PIPE":
            for pipe in (process.stdout, process.stderr):
                if pipe:
                    pipe.close()
        elif made.signal == "KILL":
            self._kill_hard(made, process)
        else:
            send(process.pid, signal.Signals[f"SIG{made.signal}"])

    def _later(self, process: subprocess.Popen[bytes]) -> None:
        """Ask a command to end that does not end by itself, once it had time to notice."""
        timer = threading.Timer(1.0, process.terminate)
        timer.daemon = True
        timer.start()

    def _wait(self, made: Case, process: subprocess.Popen[bytes]) -> None:
        drain(process)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            made.problems.append(f"it did not end within {PATIENCE_S:g} s")
            process.kill()
            process.wait()

    def _kill_hard(self, made: Case, process: subprocess.Popen[bytes]) -> None:
        started = [pid for pid, _ in state.processes(self.bench.token)]
        if made.victim == "guard first":
            for pid in filter(is_guard, started):
                send(pid, signal.SIGKILL)
            time.sleep(self.rng.uniform(0, 0.2))
        if made.victim == "group":
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        if made.victim == "everything":
            end_all(self.bench.token)
        send(process.pid, signal.SIGKILL)

    def _recover(self, made: Case) -> None:
        """Recover as a user would, from the least to the most, and note what it took."""
        guarded = made.victim not in ("guard first", "everything") and made.part != REMOTE
        made.changes = self._settled(GUARDS_S if guarded or made.part == REMOTE else 1.0)
        made.recovery = "none"
        if made.changes and guarded:
            made.problems.append(f"not restored at once: {made.changes}")
        if made.changes:
            made.recovery = self.rng.choice(("doctor", "doctor", "next"))
            if _on_target(made.changes):
                made.recovery = "next there"
            made.problems += self._command(made.recovery)
            made.changes = self._settled(1.0)

    def _settled(self, patience_s: float) -> list[str]:
        """Return the changes that are left once there are none, or after a while."""
        end = time.monotonic() + patience_s
        while (left := self.bench.changes()) and time.monotonic() < end:
            if _on_target(left):
                self.bench.remote.end_leases()  # a call that was under way may have renewed it
            time.sleep(0.05)
        return left

    def _command(self, recovery: str) -> list[str]:
        words: list[object] = ["doctor", "--restore"]
        if recovery == "next":
            output = self.bench.scratch / "outputs" / f"next-{time.monotonic_ns()}"
            words = ["record", *OTHERS, "--allow-warm", "--no-probe", "-o", output, "--", "true"]
        if recovery == "next there":
            output = self.bench.scratch / "outputs" / f"next-{time.monotonic_ns()}"
            done = self.bench.foreread(*self.commands.remote_words(output))
        else:
            done = self.bench.foreread(words)
        return [f"{recovery}: {done.stderr.decode(errors='replace')}"] if done.returncode else []


def _on_target(changes: Sequence[str]) -> bool:
    return any(change.startswith("target's ") for change in changes)


def send(pid: int, number: signal.Signals) -> None:
    """Signal a process if it still exists."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def end_all(token: str) -> None:
    """Kill everything that a case has started, its guard first."""
    for _ in range(3):  # some may be forked meanwhile
        pids = [pid for pid, _ in state.processes(token)]
        for pid in sorted(pids, key=lambda pid: not is_guard(pid)):
            send(pid, signal.SIGKILL)


def drain(process: subprocess.Popen[bytes]) -> None:
    """Read what it prints, so that it does not wait for a reader."""
    for pipe in (process.stdout, process.stderr):
        if pipe and not pipe.closed:
            threading.Thread(target=_read, args=(pipe,), daemon=True).start()


def _read(pipe: object) -> None:
    with suppress(OSError, ValueError):
        while pipe.read(1 << 16):  # type: ignore[attr-defined]
            pass
