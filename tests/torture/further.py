"""Cases without a kill: what else goes wrong under a command. It must fail clearly, or wait."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import clock
from commands import COMMON, capture_problems, json_problems
from killing import Case
from targets import Targets

from bench import Bench

NO_RUN = "mount --make-rprivate / && mount --bind /run /run && mount -o remount,bind,ro /run"
NO_TRACEFS = (
    "mount --make-rprivate / && mount -t tmpfs -o ro none /sys/kernel/tracing"
    " && mount -t tmpfs -o ro none /sys/kernel/debug"
)
LIMIT_S = 120.0
JUMPING = ("record", "sweep")


class Further:
    """Makes each case by its name; the result is a Case, as that of a kill."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.cases: dict[str, Callable[[], list[str]]] = {
            "full record": self.full_record,
            "full sweep": self.full_sweep,
            "full tune": self.full_tune,
            "full report": self.full_report,
            "full script": self.full_script,
            "read-only /run": self.read_only_run,
            "no tracefs": self.no_tracefs,
            "other user": self.other_user,
            "two at once": self.two_at_once,
            **{f"clock, {name}": partial(self.clock_jumps, name) for name in JUMPING},
            **Targets(bench, self._refused, self._output).cases,
        }

    def case(self, number: int, name: str) -> Case:
        """Make one case, and compare the machine."""
        began = time.monotonic()
        made = Case(number, name, "-", "-", 0.0, "further")
        made.problems = self.cases[name]()
        end = time.monotonic() + 5
        while (changes := self.bench.changes()) and time.monotonic() < end:
            time.sleep(0.1)
        made.changes, made.recovery = changes, "none"
        made.seconds = round(time.monotonic() - began, 2)
        return made

    def full_record(self) -> list[str]:
        """A recording whose folder has too little space, from the start or at the end."""
        with self._full() as folder:
            output = folder / "capture"
            words = ["record", *COMMON, "--no-probe", "-o", output, "--", *self.bench.app]
            return [*self._refused(words), *capture_problems(output)]

    def full_sweep(self) -> list[str]:
        """A sweep whose document does not fit."""
        with self._full() as folder:
            output = folder / "sweep.json"
            words = ["sweep", *COMMON, "--windows", "16k", "--repeat", "1", "-o", output, "--"]
            return [*self._refused([*words, *self.bench.app]), *json_problems(output)]

    def full_tune(self) -> list[str]:
        """A campaign whose store does not fit."""
        with self._full() as folder:
            words = ["tune", "-o", folder / "app.tuning", *COMMON, "--genes", "read_ahead_kb=16:64"]
            words += ["--device", self.bench.loop.device, "--repeats", "1:1", "--budget", "17"]
            return self._refused([*words, "--", *self.bench.app])

    def full_report(self) -> list[str]:
        """A report that does not fit."""
        with self._full() as folder:
            return self._refused(["report", self.bench.capture, "-o", folder / "report"])

    def full_script(self) -> list[str]:
        """A boot script that does not fit."""
        with self._full() as folder:
            words = ["script", self.bench.capture, "--read-ahead-kb", "64", "-o", folder / "boot"]
            return self._refused(words)

    def read_only_run(self) -> list[str]:
        """No journal can be written: nothing may be changed."""
        return self._refused(self._recording(), ["unshare", "-m", "sh", "-c", f'{NO_RUN} && "$@"'])

    def no_tracefs(self) -> list[str]:
        """A mount namespace in which tracefs is hidden."""
        words = ["record", *COMMON, "--no-probe", "--backend", "tracefs", "-o", self._output()]
        hidden = ["unshare", "-m", "sh", "-c", f'{NO_TRACEFS} && "$@"']
        # It may also mount tracefs above what hides it.
        return self._refused([*words, "--", *self.bench.app], hidden, or_done=True)

    def other_user(self) -> list[str]:
        """An unprivileged user."""
        return self._refused(self._recording(), ["setpriv", "--reuid=65534", "--clear-groups"])

    def two_at_once(self) -> list[str]:
        """The second of two recordings is refused, or waits; then both are killed."""
        first = self.bench.start([*self._recording()[: -len(self.bench.app)], "sleep", "600"])
        end = time.monotonic() + LIMIT_S
        while self.bench.loop.window_kb() != 0 and time.monotonic() < end:
            time.sleep(0.05)
        words = ["sweep", "--allow-warm", "--windows", "16k", "-o", self._output(), "--"]
        problems = self._refused([*words, *self.bench.app])
        second = self.bench.start(self._recording())
        time.sleep(1)
        problems += [] if second.poll() is None else ["the second did not wait"]
        for process in (first, second):
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        return problems

    def clock_jumps(self, name: str) -> list[str]:
        """A clock that jumps all the time changes nothing of the result."""
        output = self._output()
        words: dict[str, list[object]] = {
            "record": ["record", *COMMON, "--no-probe", "-o", output, "--"],
            "sweep": ["sweep", *COMMON, "--windows", "16k", "--repeat", "1", "-o", output, "--"],
        }
        done = self._run([*words[name], *self.bench.app], clock.make(self.bench.scratch))
        said = done.stderr.decode(errors="replace")
        problems = [f"{name}: {said[-600:]}"] if done.returncode or "Traceback" in said else []
        return problems if output.exists() else [*problems, f"{output} is not there"]

    @contextmanager
    def _full(self) -> Iterator[Path]:
        """Yield a folder on a file system without space."""
        folder = self.bench.scratch / f"full-{time.monotonic_ns()}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(folder)]
        subprocess.run(command, check=True)
        with suppress(OSError):
            (folder / "full").write_bytes(bytes(1 << 16))
        try:
            yield folder
        finally:
            subprocess.run(["umount", str(folder)], check=True)
            folder.rmdir()

    def _output(self) -> Path:
        return self.bench.scratch / "outputs" / f"further-{time.monotonic_ns()}"

    def _recording(self) -> list[object]:
        words = ["record", *COMMON, "--no-probe", "-o", self._output(), "--"]
        return [*words, *self.bench.app]

    def _run(
        self, words: Sequence[object], prefix: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[bytes]:
        process = self.bench.start(words, prefix)
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def _refused(
        self, words: Sequence[object], prefix: Sequence[str] = (), or_done: bool = False
    ) -> list[str]:
        """Return what is wrong unless the command fails with one clear message."""
        prefix = [*prefix, "sh"] if prefix and prefix[-1].endswith('"$@"') else prefix
        done = self._run(words, prefix)
        said = done.stderr.decode(errors="replace")
        if done.returncode not in (1, 2) and not (or_done and done.returncode == 0):
            return [f"{words[0]} exited with {done.returncode}: {said[-300:]}"]
        return [f"{words[0]}: {said[-600:]}"] if "Traceback" in said else []
