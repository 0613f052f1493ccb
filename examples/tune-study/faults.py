"""What can go wrong while a board is tuned, made to go wrong on an emulated one that stays up.

`foreread tune` runs as a user runs it, is disturbed in the middle of a trial, and goes on, or is
resumed. After every fault the board's settings must be what they were, and nothing of foreread be
left on it; no run that was stored may be lost, made twice or counted twice; and the campaign must
end with the result of one that nothing disturbed.

    python examples/tune-study/faults.py [-o FILE] [--times N] [CAMPAIGN ...]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from faults_bench import NAME, PLAY, Bench, Tuning, must

from boards.emulated import live

FROZEN_S = 60.0


@dataclass(frozen=True)
class Observed:
    """One fault, or a campaign at its end: what was said, and the runs stored until then.

    ``back_s``: seconds of the board's own time until all was put back, from when it answered.
    """

    what: str
    said: str
    runs: dict[str, int]
    back_s: float


def observed(what: str, tuning: Tuning, said: str) -> Observed:
    """Return what was seen, once the board is as it was before."""
    back_s = tuning.bench.seconds_until_as_before()
    lines = [line for line in said.splitlines() if "generation" not in line]
    lines = [line for line in lines if "confirming the best: run" not in line]
    statuses = Counter(str(one.attempt.status) for one in tuning.made())
    one = Observed(what, " | ".join(lines[-3:]), dict(statuses), round(back_s, 2))
    print(one, flush=True)
    return one


def in_a_trial(tuning: Tuning, process: subprocess.Popen[str]) -> None:
    """Wait for another run to be stored, and then for a moment in the next one."""
    tuning.wait_for_run(process, len(tuning.made()) + 1)  # else it might never get on
    time.sleep(random.uniform(0, 6))
    must(process.poll() is None, "it ended by itself")


def ended(tuning: Tuning, make: Callable[[subprocess.Popen[str]], object]) -> str:
    """Make a fault in a trial that ends the campaign; return what that said."""
    before = tuning.made()
    process = tuning.start()
    in_a_trial(tuning, process)
    make(process)
    _, said = process.communicate()
    must(process.returncode != 0, f"it came to its end: {said}")
    must(tuning.made()[: len(before)] == before, "a stored run has changed")
    return str(said)


def interrupted(tuning: Tuning, number: signal.Signals) -> Observed:
    """Ctrl-C, SIGTERM or kill -9."""
    said = ended(tuning, lambda process: process.send_signal(number))
    return observed(number.name, tuning, said)


def disk_full(tuning: Tuning) -> Observed:
    """Fill the disk on which TUNING is, and make room again."""
    filler = tuning.path.with_name("filler")

    def fill(_: object) -> None:
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    said = ended(tuning, fill)
    filler.unlink()
    return observed("the disk of TUNING is full", tuning, said)


def board_gone(tuning: Tuning) -> Observed:
    """End the board for good; it is started again only after the campaign has ended for that."""
    said = ended(tuning, lambda _: tuning.bench.board.stop())
    tuning.bench.board = board()
    return observed("the board is gone for good, and started again later", tuning, said)


def survived(tuning: Tuning, what: str, make: Callable[[], object]) -> Observed:
    """Make a fault of the board from which it comes back; the campaign goes on, and is ended."""
    process = tuning.start()
    in_a_trial(tuning, process)
    before = len(tuning.made())
    make()
    tuning.wait_for_run(process, before + 2)  # the lost one, and the next
    must(len(tuning.made()) >= before + 2, "it did not go on")
    process.send_signal(signal.SIGINT)
    return observed(what, tuning, str(process.communicate()[1]))


def freeze(bench: Bench) -> None:
    """Stop the whole board for a while: it does not answer, and then does again."""
    bench.signal(signal.SIGSTOP)
    time.sleep(FROZEN_S)
    bench.signal(signal.SIGCONT)


def restart(bench: Bench) -> None:
    """Restart the board, without any order."""
    bench.said("(sleep 0.1; reboot -f) </dev/null >/dev/null 2>&1 &")


def disturbed(bench: Bench, times: int) -> Iterator[Observed]:
    """One campaign with a fault in nearly every run; another one without any."""
    numbers = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
    with small_disk(bench.folder / "small") as small:
        tuning = Tuning(bench, small / "disturbed.tuning")
        for _ in range(times):
            for number in numbers:
                yield interrupted(tuning, number)
        yield disk_full(tuning)
        yield survived(tuning, "reboot -f on the board", partial(restart, bench))
        yield survived(tuning, f"the board is frozen for {FROZEN_S:g} s", partial(freeze, bench))
        yield board_gone(tuning)
        yield observed("the end of that campaign", tuning, tuning.finish())
        whole = Tuning(bench, bench.folder / "whole.tuning")
        yield observed("a campaign without faults", whole, whole.finish())
        tuning.must_end_as(whole)


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk of 1 MiB."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def loads(bench: Bench, times: int) -> Iterator[Observed]:
    """Kill -9 while a load of the scenario memory or writer runs on the board."""
    for scenario in ("memory:16", "writer", "reader") * times:
        name = f"{scenario.partition(':')[0]}.tuning"
        tuning = Tuning(bench, bench.folder / name, "--scenario", scenario)
        said = ended(tuning, lambda process: process.kill())
        yield observed(f"SIGKILL in the scenario {scenario}", tuning, said)
        tuning.path.unlink()


def hanging(bench: Bench, _times: int) -> Iterator[Observed]:
    """Let one allele hang: a command that never ends, and one that nothing can end."""
    window = "[ $(cat /sys/block/slow0/queue/read_ahead_kb) = 128 ] ||"
    endless = ["sh", "-c", f"{window} sleep 1000; {' '.join(PLAY)}"]
    path, limit = bench.folder / "endless.tuning", ("--limit", "60")
    tuning = Tuning(bench, path, *limit, command=endless)
    said = tuning.finish()
    tuning.must_have_found(128)
    yield observed("a command that never ends at one allele", tuning, said)
    # The file system is frozen: whatever writes to it, and every sync, waits for ever.
    stuck = ["sh", "-c", f"{window} {{ fsfreeze -f /; echo >/stuck; }}; {' '.join(PLAY)}"]
    again = ("--reset", f"{sys.executable} {Path(__file__).resolve()} --reset")
    tuning = Tuning(bench, bench.folder / "stuck.tuning", *limit, *again, command=stuck)
    said = tuning.finish()
    bench.board = board()
    tuning.must_have_found(128)
    yield observed("the root is frozen at one allele; with --reset", tuning, said)


CAMPAIGNS = {"disturbed": disturbed, "loads": loads, "hanging": hanging}


def board() -> live.LiveBoard:
    """Return the board, started if it does not run."""
    return live.started(NAME) or live.start(live.LiveOptions("x86_64"), NAME)


def reset() -> None:
    """Switch it off and on."""
    board().stop()
    board()


def main() -> int:
    """Run the campaigns asked for, all of them by default."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="CAMPAIGN", help=", ".join(CAMPAIGNS))
    parser.add_argument("-o", "--output", type=Path, default=Path("faults.json"), metavar="FILE")
    parser.add_argument("--times", type=int, default=2, metavar="N", help="each signal (2)")
    parser.add_argument("--reset", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.reset:
        reset()
        return 0
    for name in set(args.names) - set(CAMPAIGNS):
        parser.error(f"no campaign {name!r}: say {', '.join(CAMPAIGNS)}")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a job of the background
    found: list[Observed] = []
    with tempfile.TemporaryDirectory(prefix="foreread-faults-") as folder:
        bench = Bench(board(), Path(folder))
        try:
            bench.before = bench.state()
            for name in args.names or CAMPAIGNS:
                for one in CAMPAIGNS[name](bench, args.times):
                    found.append(one)
                    args.output.write_text(json.dumps(list(map(asdict, found)), indent=1) + "\n")
        finally:
            bench.board.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
