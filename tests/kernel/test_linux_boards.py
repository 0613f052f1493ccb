"""The emulated readahead against kernels that run on emulated boards: 5.10 to 7.2, three CPUs.

As test_linux_readahead.py does on the running kernel: generated programs, cold, by window.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from guest_programs import EXECUTOR, SET_UP, WINDOWS, commands, folios
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from program_strategy import SIZES, Drawn, programs
from programs import PAGE, MapFlag, Script
from waiting import left_s

from foreread.analyzer.predict.inputs import machine_of
from foreread.boards.emulated import MACHINES
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.emulator.linux.filesystems import has_large_folios
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.stepwise.replay import emulate

EXAMPLES = int(os.environ.get("FOREREAD_JUDGE_EXAMPLES", "25"))
QUEUE = "/sys/block/slow0"
# 64 bits and pages of 4 KiB, as the executor has; doctor --judge runs on all others.
BOARDS = (
    *(("x86_64", kernel) for kernel in MACHINES["x86_64"].kernels),
    ("arm64", "6.12"),
    ("arm64", "7.2"),
    ("riscv64", "7.2"),
)

pytestmark = [
    pytest.mark.boards,
    pytest.mark.skipif(
        any(shutil.which(f"{MACHINES[name].cross}gcc") is None for name, _ in BOARDS),
        reason="a cross compiler is missing: nothing to execute",
    ),
]


class Board:
    """A board with the executor and a file of each of SIZES."""

    def __init__(self, target: EmulatedTarget, executor: Path) -> None:
        self.target = target
        target.push(executor, "/root/guest")
        release, limit = self._checked(["sh", "-c", SET_UP]).split()
        self.version = version_of(release)
        self.rules = rules_for(self.version)
        self.large = has_large_folios("ext4", "", self.version)
        machine = self._checked(["uname", "-m"]).strip()
        self.machine, _ = machine_of(PAGE, machine, {"max_sectors_kb": limit})
        self.execute([f"file {number} {size}" for number, size in enumerate(SIZES)])

    def execute(self, lines: list[str]) -> str:
        words = ["/root/guest", "/root/files", "/sys/kernel/tracing/instances/judge", QUEUE]
        return self._checked(words, "\n".join([*lines, ""]).encode())

    def _checked(self, words: list[str], stdin: bytes = b"") -> str:
        done = self.target.run(words, stdin=stdin, timeout_s=left_s())
        assert done.status == 0, done.stderr
        return done.stdout.decode()


@pytest.fixture(scope="module", params=BOARDS, ids="-".join)
def board(request, tmp_path_factory) -> Iterator[Board]:
    name, kernel = request.param
    executor = tmp_path_factory.mktemp("guest") / "guest"
    compiler = f"{MACHINES[name].cross}gcc"
    subprocess.run([compiler, "-O1", "-static", EXECUTOR, "-o", executor], check=True)
    options = LiveOptions(name, kernel=kernel, latency_ns=50_000, ns_per_kib=100, memory_mib=1024)
    with EmulatedTarget(options) as target:
        yield Board(target, executor)


@given(data=st.data())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="FOREREAD_JUDGE_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
def test_folios_are_identical_on_another_kernel(board, data):
    drawn = data.draw(programs(large=board.large, block=0))
    program = drawn.script.program()
    note(f"{drawn.script.files=} {drawn.script.mappings=} {drawn.script.operations=}")
    windows = data.draw(st.lists(st.sampled_from(WINDOWS), min_size=8, max_size=8, unique=True))
    answers = board.execute([line for window in windows for line in commands(drawn, window)])
    for window, answer in zip(windows, answers.split("end\n"), strict=False):
        expected = emulate(program, board.rules, window, board.machine)
        assert [folio[:3] for folio in expected.inserts] == folios(answer, drawn.sizes), window


def touching(board, flags, *, write=False, back=()):
    """A program that touches a mapping at 150 places far apart, then ``back``, then once more."""
    script = Script()
    handle = script.open(script.sized(SIZES[-1], large=board.large))
    mapping = script.map(handle, 0, SIZES[-1] // PAGE, flags)
    for page in (*range(16, 3616, 24), *back, 3900):
        script.touch(mapping, page, write=write)
    return Drawn(script, [len(SIZES) - 1])


@pytest.mark.parametrize(
    ("flags", "write", "back"),
    [
        (MapFlag(0), False, ()),
        (MapFlag(0), False, tuple(range(14, 3614, 48))),
        (MapFlag(0), True, ()),
        (MapFlag.SHARED, False, tuple(range(18, 1218, 24))),
        (MapFlag.EXEC, False, ()),
        (MapFlag.SEQUENTIAL, False, ()),
        (MapFlag.RANDOM, False, ()),
    ],
)
def test_many_misses_are_counted_as_on_another_kernel(board, flags, write, back):
    drawn = touching(board, flags, write=write, back=back)
    for window in (4, 8, 16):
        answer = board.execute(commands(drawn, window))
        expected = emulate(drawn.script.program(), board.rules, window, board.machine)
        assert [folio[:3] for folio in expected.inserts] == folios(answer, drawn.sizes), window
