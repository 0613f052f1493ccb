"""What the cases work on: a loop device with an application, a capture of it, TUNING files."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import state
from loop_image import LoopImage, loop_image
from remote import Remote
from tuned_stores import spec_of
from waiting import wait_until
from watched_disks import WINDOW_KB, a_disk

from foreread.analyzer.tuner.evaluation import Attempt
from foreread.analyzer.tuner.space.genes import Gene, Space
from foreread.analyzer.tuner.store.records import Evaluation
from foreread.analyzer.tuner.store.store import Store

ROOT = Path(__file__).parents[2]
OTHERS = ("--wait", "600")  # for other forereads on the machine
FIO = ("--direct=1", "--rw=randread", "--bs=4k", "--time_based", "--runtime=36000")


class PreparationFailed(RuntimeError):
    """The bench could not be made ready: nothing was tortured."""


@dataclass
class Bench:
    """The place of the torture; ``token`` marks all processes that it starts."""

    scratch: Path
    loop: LoopImage
    disk: str  # a loop device without a file system, under load while a case asks for it
    token: str = field(default_factory=lambda: secrets.token_hex(6))
    before: state.State = field(default_factory=dict)
    unsteady: set[str] = field(default_factory=set)
    stack: ExitStack = field(default_factory=ExitStack)  # closed with the bench
    prefix: list[str] = field(default_factory=list)  # of the commands that are begun now
    _remote: Remote | None = None

    @property
    def app(self) -> list[str]:
        """The application: it reads 64 pages, for about 0.1 s."""
        return [str(self.loop.busybox), "wc", str(self.loop.data)]

    @property
    def capture(self) -> Path:
        """A whole capture of the application."""
        return self.scratch / "capture"

    @property
    def plans(self) -> Path:
        """A TUNING with settings for a learnt workload of the disk."""
        return self.scratch / "plans.tuning"

    def environment(self) -> dict[str, str]:
        """What a case's processes get."""
        return {
            **os.environ,
            state.TOKEN: self.token,
            "TMPDIR": str(self.scratch / "tmp"),
            "PYTHONPATH": str(ROOT),
        }

    def start(self, words: Sequence[object], prefix: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start a foreread, the leader of its session, whose output is a pipe."""
        command = [*self.prefix, *prefix, sys.executable, "-m", "foreread", *map(str, words)]
        return subprocess.Popen(
            command,
            cwd=self.scratch,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def foreread(
        self, words: Sequence[object], prefix: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a foreread to its end."""
        process = self.start(words, prefix)
        out, err = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def dump(self) -> state.State:
        """Return the state of the machine."""
        found = state.dump((self.loop.device, self.disk), self.scratch, self.token)
        return found | dict(self._remote.facts() if self._remote else ())

    def changes(self) -> list[str]:
        """Return what differs from the state before all cases."""
        return state.differences(self.before, self.dump(), self.unsteady)

    @property
    def remote(self) -> Remote:
        """This machine as a target, by ssh."""
        if not self._remote:
            self._remote = Remote(self.scratch / "server")
            self.stack.callback(self._remote.server.stop)
        return self._remote

    @contextmanager
    def prefixed(self, *words: str) -> Iterator[None]:
        """Put these words before the commands that are started within the block."""
        self.prefix = list(words)
        try:
            yield
        finally:
            self.prefix = []

    @contextmanager
    def workload(self) -> Iterator[None]:
        """Keep the disk under load, from the first read on."""
        words = ["fio", "--name=load", f"--filename=/dev/{self.disk}", *FIO, "--thinktime=5ms"]
        reads = self._reads()
        load = subprocess.Popen([*words, "--ioengine=psync"], stdout=subprocess.DEVNULL)
        try:
            wait_until(lambda: self._reads() > reads)
            yield
        finally:
            load.terminate()
            load.wait()

    def _reads(self) -> int:
        """Return how many reads the disk has completed (Documentation/block/stat.rst)."""
        return int(Path(f"/sys/block/{self.disk}/stat").read_text().split()[0])


@contextmanager
def bench() -> Iterator[Bench]:
    """Make a bench, in memory; all of it is gone afterwards."""
    with ExitStack() as stack:
        name = tempfile.mkdtemp(prefix="foreread-torture-", dir="/dev/shm")
        stack.callback(shutil.rmtree, name, ignore_errors=True)
        scratch = Path(name)
        for folder in ("tmp", "loop", "disk", "outputs"):
            (scratch / folder).mkdir()
        loop = stack.enter_context(loop_image(scratch / "loop"))
        disk = stack.enter_context(a_disk(scratch / "disk"))
        yield Bench(scratch, loop, disk.name, stack=stack)


def prepare(made: Bench) -> None:
    """Make the capture and the TUNING that cases begin with, and learn what is steady."""
    words = ["record", "--allow-warm", *OTHERS, "-o", made.capture, "--", *made.app]
    _checked(made.foreread(words))
    _make_plans(made)
    _checked(made.foreread(["doctor", "--restore"]))
    dumps = [made.dump() for _ in range(3)]
    made.before, made.unsteady = dumps[0], state.unsteady(dumps)


def _make_plans(made: Bench) -> None:
    """Make a TUNING whose best is a window of 16 KiB, learnt for the load."""
    window = Gene(
        name="window",
        kind="integer",
        choices=(16, WINDOW_KB),
        default=WINDOW_KB,
        knob="/sys/block/{disk}/queue/read_ahead_kb",
    )
    spec = spec_of(scenarios=("idle",), recipe="random", space=Space((window,)))
    with Store.create(made.plans, spec) as store:
        for number, kb in enumerate((WINDOW_KB, 16) * 5, 1):
            attempt = Attempt("ok", 1.0 if kb == 16 else 2.0)
            store.add(Evaluation(number, {"window": kb}, "idle", number // 2, 1, attempt, 0, 1))
    with made.workload():
        words = ["fingerprint", "--learn", made.plans, "--interval", "1", "--device", made.disk]
        _checked(made.foreread(words))


def _checked(done: subprocess.CompletedProcess[bytes]) -> None:
    if done.returncode:
        raise PreparationFailed(f"{done.args}: {done.stderr.decode(errors='replace')}")


def is_json(path: Path) -> bool:
    """Return whether a file is a whole JSON document."""
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True
