"""Power cuts of an emulated board: its QEMU is killed, and started anew with the same disks.

What is not synced is lost. The board has a boot script, which counts its boots on a second disk.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from booted_board import SCRIPT, BootedBoard
from commands import capture_problems
from killing import Case
from remote import client

from bench import Bench
from foreread.boards.emulated import coming_up, launch
from foreread.boards.emulated.error import BoardError
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.boards.emulated.state import PROCESS
from foreread.boards.target import TargetError
from foreread.machine.install import install

BOARD = "board"
MOUNT = """#!/bin/sh
mkdir -p /data
for disk in /sys/block/vd*; do
	[ "$(cat "$disk/serial")" != data ] || mount "/dev/${disk##*/}" /data
done
"""
KNOBS = "grep -s . /sys/block/slow0/queue/* /sys/block/slow0/queue/iosched/* /proc/sys/vm/dirty*"
AGAIN = f"while :; do {SCRIPT} stop; {SCRIPT} start; done"
SETTLED_S = 10.0  # on this machine
ENDS_S, LASTS_S = 60.0, 10.0  # of a recording there; its moment of death


class Board:
    """A board that is booted once, and after each cut."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench, self._seed = bench, seed
        self.options = LiveOptions("arm64", swap_mib=0, data_mib=8)
        target = bench.stack.enter_context(EmulatedTarget(self.options))
        self.live = target.board
        board = BootedBoard(target)
        board.put("/etc/init.d/S03data", MOUNT)
        board.sh("sh /etc/init.d/S03data")
        self.defaults = board.sh(KNOBS)
        install(target, board.plan(64, attempts=2, state_dir="/data"))
        target.reboot(300.0)  # in order: what is installed is on its disk now
        self.ssh = client(bench.scratch / "board", self.live.known_hosts)

    def case(self, number: int) -> Case:
        """Cut the power while something is done, and look at the board once it is up again."""
        rng = random.Random(f"{self._seed} {number}")
        what = rng.choice(("record", "boot script", "boot"))
        made = Case(number, what, "POWER", "board", 0.0, BOARD)
        began = time.monotonic()
        output = self.bench.scratch / "outputs" / f"board-{number}"
        doing = self._begin(what, output)
        made.moment_s = round(rng.uniform(0, LASTS_S), 3)
        time.sleep(made.moment_s)
        made.alive = doing is None or doing.poll() is None
        words = self._cut()
        if doing:
            made.problems += _ended(doing)
        process = self._launch(words)
        try:
            coming_up.wait(self.live.target, process, self.live.folder, self.options)
            made.problems += self._looked_at()
        except (BoardError, TargetError) as error:
            made.problems.append(f"the board did not come up again: {error}")
        made.problems += capture_problems(output)
        end = time.monotonic() + SETTLED_S
        while (changes := self.bench.changes()) and time.monotonic() < end:
            time.sleep(0.1)
        made.changes, made.recovery = changes, "boot"
        made.seconds = round(time.monotonic() - began, 2)
        return made

    def _begin(self, what: str, output: Path) -> subprocess.Popen[bytes] | None:
        if what == "boot":
            self._launch(self._cut())
            return None
        if what == "boot script":
            words = [*self.live.ssh_words(), AGAIN]
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=-1, stderr=-1)
        words = ["record", "--target", str(self.live.address), "--search", "1"]
        words += ["--identity", str(self.live.identity), "-o", str(output)]
        command = ["madplay", "-Q", "-o", "null:", "-t", "1", "/sample.mp3"]
        return self.bench.start([*words, "--", *command], ["env", self.ssh])

    def _cut(self) -> list[str]:
        """Kill QEMU; return the words that start it again."""
        pid = int((self.live.folder / PROCESS).read_text().split()[0])
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        (self.live.folder / PROCESS).unlink()
        return [word.decode() for word in words]

    def _launch(self, words: list[str]) -> launch.Process:
        (self.live.folder / launch.LOG).unlink(missing_ok=True)  # that of the earlier boot
        return launch.spawn(self.live.folder, words, tied=True)

    def _looked_at(self) -> list[str]:
        """Return what is not as after any other boot, and without the script."""
        with self.live.target() as target:
            done = target.run(["sh", "-c", f"{SCRIPT} status; {SCRIPT} stop"])
            problems = [] if done.status == 0 else [f"stop: {done.stderr.decode()}"]
            found = target.run(["sh", "-c", KNOBS]).stdout.decode().strip()
            lines = set(found.splitlines()) ^ set(self.defaults.splitlines())
            kept = target.run(["sh", "-c", f"{SCRIPT} reset; cat /data/*.attempts"])
            problems += [f"on the board: {line}" for line in sorted(lines)]
            left = target.run(["sh", "-c", "ls -d /run/foreread-*/lease /data/*.part 2>&-"]).stdout
            problems += [f"left on the board: {left.decode()}"] if left else []
        if b"\0" in kept.stdout:
            problems.append(f"the marks of boots are damaged: {kept.stdout!r}")
        return problems


def _ended(doing: subprocess.Popen[bytes]) -> list[str]:
    try:
        said = doing.communicate(timeout=ENDS_S)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        doing.kill()
        doing.communicate()
        return [f"it did not end within {ENDS_S:g} s of the cut"]
    return [said[-600:]] if "Traceback" in said else []
