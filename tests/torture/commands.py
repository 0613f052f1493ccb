"""The commands that are killed: how each is started, and what its output must be afterwards."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import state

from bench import Bench, is_json
from foreread.analyzer.tuner.store.store import Store
from foreread.tracer.formats import capture as capture_files

BACKENDS = ("auto", "tracefs", "trace-cmd", "perf")
WAIT_S = 60.0  # for another foreread on this machine
WAIT = ("--wait", f"{WAIT_S:g}")
COMMON = ("--allow-warm", *WAIT)
SEARCH = ("--search", "1")  # else most of their time is that of a find through all disks
PATIENCE_S = 60.0  # for a boot script
WINDOWS = ":".join(str(4 * pages) for pages in range(1, 33))


@dataclass
class Begun:
    """A command that runs, and what checks its output once it has ended; both name problems."""

    kind: str  # its name, and what else decides how long it takes
    process: subprocess.Popen[bytes]
    check: Callable[[], list[str]]
    around: AbstractContextManager[object] = field(default_factory=nullcontext)
    ends: bool = True  # by itself
    tidy: Callable[[], object] = lambda: None  # what a user would call after it


class Commands:
    """Starts each command by its name."""

    def __init__(self, bench: Bench, rng: random.Random) -> None:
        self.bench = bench
        self.rng = rng
        self._number = 0
        self._store = self._fresh("store.tuning")
        self._attempts: list[object] = []
        self._script: Path | None = None
        self.start: dict[str, Callable[[], Begun]] = {
            "record": self.record,
            "sweep": self.sweep,
            "confirm": self.confirm,
            "tune": self.tune,
            "fingerprint": self.fingerprint,
            "boot-script": self.boot_script,
            "remote": self.remote,
        }

    def record(self) -> Begun:
        """A recording by any of the recorders."""
        output, backend = self._fresh("capture"), self.rng.choice(BACKENDS)
        probe = () if self.rng.random() < 0.3 else ("--no-probe",)
        words = ["record", *COMMON, *SEARCH, *probe, "--backend", backend, "-o", output, "--"]
        process = self.bench.start([*words, *self.bench.app])
        kind = f"record {backend} {' '.join(probe)}"
        return Begun(kind, process, lambda: capture_problems(output))

    def remote(self) -> Begun:
        """A recording over ssh, of this machine as a target."""
        process = self.bench.start(*self.remote_words(output := self._fresh("capture")))
        return Begun("remote", process, lambda: capture_problems(output))

    def remote_words(self, output: Path) -> tuple[list[object], list[str]]:
        """Return the words of such a recording, and what comes before them."""
        there = self.bench.remote
        words = ["record", *there.options, *COMMON, *SEARCH, "-o", output, "--", *self.bench.app]
        return words, ["env", there.ssh]

    def sweep(self) -> Begun:
        """Two windows and the default one."""
        output = self._fresh("sweep.json")
        words = ["sweep", *COMMON, "--windows", "16k,64k", "--repeat", "1", "-o", output, "--"]
        process = self.bench.start([*words, *self.bench.app])
        return Begun("sweep", process, lambda: json_problems(output))

    def confirm(self) -> Begun:
        """Runs of a capture, which must stay whole, with every confirmation that it had."""
        capture = self._fresh("confirmed")
        shutil.copytree(self.bench.capture, capture)
        words = ["confirm", capture, "--read-ahead-kb", "64", "--budget", "6", "--force"]

        return Begun(
            "confirm",
            self.bench.start([*words, *WAIT]),
            lambda: capture_problems(capture, whole=True),
        )

    def tune(self) -> Begun:
        """One campaign, killed and resumed again and again: no attempt may be lost."""
        resume = ["--resume"] if self._store.exists() else []
        genes = ["--genes", f"read_ahead_kb={WINDOWS},nr_requests=16:32:64:128"]
        words = ["tune", "-o", self._store, *genes, "--sampler", "exhaustive", *COMMON]
        words += ["--device", self.bench.loop.device, "--repeats", "1:1", *resume, "--"]
        process = self.bench.start([*words, *self.bench.app])
        return Begun("tune", process, self._check_store, ends=False)

    def _check_store(self) -> list[str]:
        if not self._store.exists():
            return [] if not self._attempts else [f"{self._store} is gone"]
        try:
            with Store.read(self._store) as store:
                made: list[object] = list(store.evaluations(withdrawn=True))
        except Exception as error:  # whatever it is, a user cannot read the store
            if not self._attempts and "Traceback" not in str(error):
                refused = self.bench.foreread(["show", self._store])
                if refused.returncode in (1, 2) and b"Traceback" not in refused.stderr:
                    self._store.unlink()  # killed before it had begun: refused clearly
                    return []
            return [f"{self._store}: {type(error).__name__}: {error}"]
        problems = []
        if made[: len(self._attempts)] != self._attempts:
            problems.append(f"{self._store}: attempts were lost")
        self._attempts = made
        if len(made) >= 100:
            self._store, self._attempts = self._fresh("store.tuning"), []
        return problems

    def fingerprint(self) -> Begun:
        """The watch of a workload with its settings in force."""
        words = ["fingerprint", "--watch", "--apply", self.bench.plans, "--interval", "1"]
        words += ["--patience", "1", "--device", self.bench.disk, *WAIT]
        around = ExitStack()
        around.enter_context(self.bench.workload())
        return Begun("fingerprint", self.bench.start(words), list, around, ends=False)

    def boot_script(self) -> Begun:
        """The boot script, called on this machine: start, then what else comes at once."""
        if self._script is None:
            folder = self._fresh("boot")
            words = ["script", self.bench.capture, "--read-ahead-kb", "64", "-o", folder]
            done = self.bench.foreread(words)
            self._script = next(iter(folder.glob("*foreread-apply*")), None)
            assert self._script, done
        script = str(self._script)
        steps = self.rng.choice((("start",), ("start", "stop"), ("start", "restart"), ("restart",)))
        line = "; ".join(f'"$0" {step} &' for step in steps).replace("&;", "&") + " wait"
        process = subprocess.Popen(
            ["sh", "-c", line, script],
            cwd=self.bench.scratch,
            env=self.bench.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

        def stop() -> None:
            # If only the shell was killed, its calls go on, and a start may come after this stop.
            end = time.monotonic() + PATIENCE_S
            while list(state.processes(self.bench.token)) and time.monotonic() < end:
                time.sleep(0.02)
            subprocess.run(
                [script, "stop"], env=self.bench.environment(), capture_output=True, check=False
            )

        return Begun(f"boot-script {steps}", process, list, tidy=stop)

    def _fresh(self, name: str) -> Path:
        self._number += 1
        folder = self.bench.scratch / "outputs" / str(self._number)
        folder.mkdir()
        return folder / name


def capture_problems(folder: Path, whole: bool = False) -> list[str]:
    """Return what is wrong with a capture: it is whole, or refused as partial, or not there."""
    if not folder.exists():
        return [f"{folder} is gone"] if whole else []
    try:
        capture_files.read(folder)
    except capture_files.CaptureError as error:
        refused = "partial" in str(error) or not (folder / capture_files.METADATA).exists()
        return [] if refused and not whole else [f"{folder}: {error}"]
    return []


def json_problems(path: Path) -> list[str]:
    """Return what is wrong with a document: it is whole, or not there."""
    return [f"{path} is damaged"] if path.exists() and not is_json(path) else []
