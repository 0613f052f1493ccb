"""The faults: injected in the middle of a trial, with the observations after each of them."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from studies.tuning.faults_bench import Bench, Tuning, must

FROZEN_S = 60.0
KNOB = "/proc/sys/vm/swappiness"
STUDY = f"{__package__}.faults"


@dataclass(frozen=True)
class Observed:
    """One fault, or a campaign at its end: what was said, the exit code, runs stored until then.

    ``back_s``: seconds of the board's own time from the fault, or from when the board answered
    again, until all was put back; ``lost`` are the runs that it cost, by their status.
    """

    what: str
    said: str
    code: int
    back_s: float
    lost: dict[str, int] = field(default_factory=dict)
    compared: dict[str, object] = field(default_factory=dict)


def observed(
    what: str,
    tuning: Tuning,
    process: subprocess.Popen[str],
    before: int = 0,
    began_s: float | None = None,
) -> Observed:
    """Wait for the campaign's end; return what was seen once the board is as it was before.

    ``before``: runs that were stored before the fault, which was at ``began_s`` of the board's
    time; the end of the campaign without it.
    """
    _, output = process.communicate()
    began_s = tuning.bench.uptime_s() if began_s is None else began_s
    back_s = tuning.bench.seconds_until_as_before(began_s)
    for own, name in ((f"{tuning.bench.folder}/", ""), (reset_words(tuning.bench)[1], "COMMAND")):
        output = output.replace(own, name)
    lines = [line for line in output.splitlines() if "generation" not in line]
    lines = [line for line in lines if "confirming the best: run" not in line]
    statuses = Counter(str(evaluation.attempt.status) for evaluation in tuning.made()[before:])
    lost = {status: number for status, number in statuses.items() if status in ("hung", "failed")}
    observation = Observed(what, " | ".join(lines[-3:]), process.returncode, round(back_s, 2), lost)
    print(observation, flush=True)
    return observation


def in_a_trial(tuning: Tuning, process: subprocess.Popen[str]) -> int:
    """Wait for another run to be stored, and then for a moment in the next one; return how many."""
    before = len(tuning.made())
    tuning.wait_for_run(process, before + 1)  # else it might never get on
    time.sleep(random.uniform(0, 6))
    if process.poll() is not None:
        must(False, f"it ended by itself: {process.communicate()[1]}")
    return before


def ended(
    what: str, tuning: Tuning, make: Callable[[subprocess.Popen[str]], object], **how: bool
) -> Observed:
    """Make a fault in a trial that ends the campaign."""
    stored = tuning.made()
    process = tuning.start(**how)
    before = in_a_trial(tuning, process)
    make(process)
    began_s = tuning.bench.uptime_s()
    observation = observed(what, tuning, process, before, began_s)
    must(observation.code != 0, f"it came to its end: {observation.said}")
    must(tuning.made()[: len(stored)] == stored, "a stored run has changed")
    return observation


def interrupted(number: signal.Signals, tuning: Tuning) -> Observed:
    """Ctrl-C, SIGTERM or kill -9."""
    return ended(number.name, tuning, lambda process: process.send_signal(number))


def disk_full(tuning: Tuning) -> Observed:
    """Fill the disk on which TUNING is, and make room again."""
    filler = tuning.path.with_name("filler")

    def fill(process: subprocess.Popen[str]) -> None:
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        process.wait()

    try:
        return ended("the disk of TUNING is full", tuning, fill)
    finally:
        filler.unlink()


def board_gone(patient: bool, tuning: Tuning) -> Observed:
    """End the board for good; it is started again only after the campaign has ended for that."""

    def end(process: subprocess.Popen[str]) -> None:
        tuning.bench.signal(signal.SIGKILL)
        process.wait()
        tuning.bench.start()

    how = "" if patient else ", with a shorter wait"
    what = f"QEMU is killed, and started again once tuning has given up{how}"
    return ended(what, tuning, end, patient=patient)


def reset_words(bench: Bench) -> tuple[str, str]:
    """Return the option that restarts the board."""
    line = f"{sys.executable} -m {STUDY} --reset --board {bench.options.board}"
    return "--reset", line


def survived(
    what: str, make: Callable[[Bench], object], tuning: Tuning, reset: bool = False
) -> Observed:
    """Make a fault of the board from which it comes back; the campaign goes on, and is ended."""
    process = tuning.start(*(reset_words(tuning.bench) if reset else ()))
    before = in_a_trial(tuning, process)
    make(tuning.bench)
    stored = len(tuning.made())
    tuning.wait_for_run(process, stored + 2)  # the lost one, and the next
    must(len(tuning.made()) >= stored + 2, "it did not go on")
    began_s = tuning.bench.uptime_s()
    process.send_signal(signal.SIGINT)
    return observed(what, tuning, process, before, began_s)


def freeze(bench: Bench) -> None:
    """Stop the whole board for a while: it does not answer, and then does again."""
    bench.signal(signal.SIGSTOP)
    time.sleep(FROZEN_S)
    bench.signal(signal.SIGCONT)


def restart(bench: Bench) -> None:
    """Restart the board, without any order."""
    bench.said("(sleep 0.1; reboot -f) </dev/null >/dev/null 2>&1 &")


def kill(bench: Bench) -> None:
    """End the board at once."""
    bench.signal(signal.SIGKILL)


def block(bench: Bench) -> None:
    """Have whoever reads or writes the knob wait for ever."""
    bench.said(f"mkfifo /run/blocked && mount --bind /run/blocked {KNOB}")


def unblock(bench: Bench) -> None:
    """Let the knob go, and all who wait for it."""
    bench.said(f"exec 9<>/run/blocked; umount {KNOB}; sleep 1; rm /run/blocked")


def knob_blocks(tuning: Tuning) -> Observed:
    """Have a knob block until the campaign has ended for that."""

    def blocked(process: subprocess.Popen[str]) -> None:
        block(tuning.bench)
        process.wait()
        unblock(tuning.bench)

    return ended("a knob blocks until tuning has given up", tuning, blocked)


QUICK: tuple[Callable[[Tuning], Observed], ...] = (
    *(partial(interrupted, n) for n in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)),
    disk_full,
    partial(survived, "reboot -f on the board", restart),
)
SLOW: tuple[Callable[[Tuning], Observed], ...] = (
    partial(survived, f"the board is frozen for {FROZEN_S:g} s", freeze),
    partial(survived, "QEMU is killed; with --reset", kill, reset=True),
    partial(survived, "a knob blocks; with --reset", block, reset=True),
    knob_blocks,
)
