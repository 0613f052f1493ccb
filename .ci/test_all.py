#!/usr/bin/env python3
"""Run every test there is, part by part, and print one table.

usage: test_all.py [PART...]     PART: a part, or the word before the hyphen of several (boards)

Parts run side by side: one on the running kernel, which mostly waits, and as many of the others as
there are processors. Those of fresh machines run alone, after the others.
Each part's output and result are kept in test-all-out/, with the commit that they hold for. On the
same commit, without local changes, a part that has passed does not run again: if this program is
ended, start it again to continue. A failed part does not stop the others.
Exit status 1 if a part failed or did not run, 2 for an unknown part.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RELEASES = ("bookworm", "trixie", "forky")
NO_ROOT = 125  # .ci/bare's exit status where no bare root can be made
MOST_S = 3 * 3600.0  # a part that takes longer hangs; the kernel part waits for other recorders
_PAUSE_S = 0.5  # between looks for a signal
# These parts mount, record and drop caches: only one of them at a time.
ON_THIS_KERNEL = ("kernel", "package", "erofs")
ALONE = ("fresh",)  # the demo predicts seconds, which a busy machine refutes: after all others
# The last line of pytest: "3 failed, 812 passed, 2 skipped in 61.50s (0:01:01)".
CLOSING = re.compile(r"^=* ?((?:\d+ [a-z]+,? )+)in [\d.]+s", re.MULTILINE)
COUNTED = {"passed": "passed", "failed": "failed", "error": "failed", "skipped": "skipped"}

Command = tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """What is known of a part: the counts are of its tests, or None if it has none."""

    result: str = "not run"
    seconds: float = 0.0
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None


# The mkfs.erofs of Debian 12 has no zstd, deflate and lzma.
EROFS = "make setup; .venv/bin/python -m pytest -q -rfEs -m 'not boards' -k erofs"


def _pytest(marks: str, *words: str) -> Command:
    common = ("-q", "-rfEs", "--durations=20", "--hypothesis-profile=all")
    return (sys.executable, "-m", "pytest", *common, "-m", marks, *words)


def parts(root: Path) -> dict[str, Command]:
    """Return the command of each part: the quick ones first."""
    workers = ("-n", os.environ.get("WORKERS", "auto"), "--dist", "loadscope")
    commands = {
        "lint": ("make", "lint"),
        "docs": ("make", "docs"),
        "unit": _pytest("not kernel and not boards and not package", *workers),
        "kernel": _pytest("kernel and not boards and not package"),
        "fuzz": ("make", "fuzz"),
        "package": _pytest("package", "--timeout", "0"),
    }
    commands |= {f"fresh-{release}": (".ci/fresh", release) for release in RELEASES}
    commands["erofs"] = (".ci/fresh", "trixie", EROFS)
    for module in sorted(root.glob("tests/**/test_*.py")):
        if "pytest.mark.boards" in module.read_text(encoding="utf-8"):
            name = module.stem.removeprefix("test_").replace("_", "-").removesuffix("-on-boards")
            path = str(module.relative_to(root))
            commands[f"boards-{name}"] = _pytest("boards", "-s", "--timeout", "0", path)
    return commands


def chosen(names: Iterable[str], words: Iterable[str]) -> list[str]:
    """Return the parts that the words name; all without a word. An unknown word is a KeyError."""
    names = list(names)
    selected: set[str] = set()
    for word in words:
        named = {name for name in names if name == word or name.startswith(f"{word}-")}
        if not named:
            raise KeyError(word)
        selected |= named
    return [name for name in names if name in selected or not words]


def counts(text: str) -> dict[str, int]:
    """Return the sums of the counts in every closing line of pytest; empty without one."""
    sums: dict[str, int] = {}
    for line in CLOSING.findall(text):
        sums |= {kind: sums.get(kind, 0) for kind in COUNTED.values()}
        for number, word in re.findall(r"(\d+) ([a-z]+)", line):
            if kind := COUNTED.get(word.removesuffix("s")):
                sums[kind] += int(number)
    return sums


def result_of(status: int, text: str, seconds: float) -> Result:
    """Return the result of a part that ended with this exit status and output."""
    counted = counts(text)
    if status == NO_ROOT or (status == 0 and counted.get("passed") == 0):
        word = "not run"  # all tests were skipped: the log says why
    elif status != 0:
        word = "failed"
    else:
        word = "passed"
    return Result(word, seconds, **counted)


class Runner:
    """Runs parts in ``root`` and keeps their results in ``out``."""

    def __init__(self, root: Path, out: Path, commands: dict[str, Command]) -> None:
        self.root, self.out, self.commands = root, out, commands
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_ended = threading.Event()

    def commit(self) -> str:
        """Return the commit that the working copy is exactly, or an empty string."""
        if self._git("status", "--porcelain") != "":
            return ""
        return self._git("rev-parse", "HEAD") or ""

    def _git(self, *words: str) -> str | None:
        done = subprocess.run(
            ["git", *words], cwd=self.root, capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else None

    def kept(self, name: str) -> Result:
        """Return the kept result of a part, if it holds for the working copy."""
        try:
            commit, fields = json.loads((self.out / f"{name}.json").read_text())
            return Result(**fields) if commit and commit == self.commit() else Result()
        except (OSError, ValueError, TypeError):
            return Result()

    def run(self, name: str) -> Result:
        """Run a part, and keep its result, unless ``end`` ends it."""
        if self.is_ended():
            return Result()
        print(f"== {name}: {self.out}/{name}.log", flush=True)
        self.out.mkdir(parents=True, exist_ok=True)
        kept, output = self.out / f"{name}.json", self.out / f"{name}.log"
        kept.unlink(missing_ok=True)
        commit, started = self.commit(), time.monotonic()
        with output.open("w", encoding="utf-8") as log:
            status = self._status(self.commands[name], log.fileno())
        text = output.read_text(encoding="utf-8", errors="replace")
        if self.is_ended():
            return Result()
        result = result_of(status, text, time.monotonic() - started)
        print(f"== {name}: {result.result}", flush=True)
        if commit == self.commit():
            kept.write_text(json.dumps([commit, asdict(result)]) + "\n")
        return result

    def end(self) -> None:
        """End the parts that run, and begin no other; a test that ends restores the machine."""
        self._is_ended.set()
        for running in list(self._running):
            running.terminate()

    def is_ended(self) -> bool:
        """Whether ``end`` was called."""
        return self._is_ended.is_set()

    def _status(self, command: Command, log: int) -> int:
        # Every package that a test needs is installed: a skip for want of another fails it.
        environment = {**os.environ, "FOREREAD_FRESH": "yes"}
        with subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        ) as running:
            self._running.add(running)
            try:
                if self.is_ended():  # since run looked
                    return 1
                return running.wait(MOST_S)
            except subprocess.TimeoutExpired:
                os.write(log, f"ended after {MOST_S:.0f} s\n".encode())
                return 1
            finally:
                running.terminate()
                self._running.remove(running)


def table(results: dict[str, Result], out: Path) -> str:
    """Return one line for each part."""
    head = ("part", "result", "passed", "failed", "skipped", "duration", "log")
    lines: list[tuple[str, ...]] = [head]
    for name, result in results.items():
        counted = [
            "-" if n is None else str(n) for n in (result.passed, result.failed, result.skipped)
        ]
        duration = f"{result.seconds // 60:.0f}:{result.seconds % 60:02.0f}"
        lines.append((name, result.result, *counted, duration, f"{out}/{name}.log"))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    form = "{:{}}  {:{}}  {:>{}}  {:>{}}  {:>{}}  {:>{}}  {}"
    return "\n".join(
        form.format(*(word for pair in zip(line, widths, strict=True) for word in pair))
        for line in lines
    )


def run(runner: Runner, words: list[str]) -> int:
    """Run the chosen parts that have not passed yet; print the table; return the exit status."""
    try:
        names = chosen(runner.commands, words)
    except KeyError as error:
        print(f"test_all: no part {error}; parts: {' '.join(runner.commands)}", file=sys.stderr)
        return 2
    results = {name: runner.kept(name) for name in names}
    left = [name for name in names if results[name].result != "passed"]
    with _ended_by_signals(runner):
        results |= _side_by_side(runner, [name for name in left if not name.startswith(ALONE)])
        results |= {name: runner.run(name) for name in left if name.startswith(ALONE)}
    if runner.is_ended():
        print("ended before all parts had run: start it again to continue")
    print(table(results, runner.out))
    return int(any(result.result != "passed" for result in results.values()))


def _side_by_side(runner: Runner, names: list[str]) -> dict[str, Result]:
    with (
        ThreadPoolExecutor(1) as on_this_kernel,
        ThreadPoolExecutor(os.cpu_count()) as others,
    ):
        running = {}
        for name in names:
            lane = on_this_kernel if name in ON_THIS_KERNEL else others
            running[name] = lane.submit(runner.run, name)
        # Python sees a signal that arrives just before a wait only after it.
        while wait(running.values(), timeout=_PAUSE_S).not_done:
            pass
    return {name: part.result() for name, part in running.items()}


@contextmanager
def _ended_by_signals(runner: Runner) -> Iterator[None]:
    # Without an exception: one that a signal raises in a callback of the garbage collector is lost.
    before = {
        number: signal.signal(number, lambda *_: runner.end())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(run(Runner(ROOT, Path("test-all-out"), parts(ROOT)), sys.argv[1:]))
