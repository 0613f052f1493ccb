"""The emulated readahead against kernels that run on an emulated board: 6.1 and 6.12.

As test_linux_readahead.py does on the running kernel: generated programs, cold, by window.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from program_strategy import SIZES, programs
from programs import PAGE, Op

from boards.emulated.live import EmulatedTarget, LiveOptions
from emulator.linux.operations import Machine
from emulator.linux.reference import emulate
from emulator.linux.rules import rules_for, version_of

WINDOWS = (0, 1, 2, 3, 4, 7, 8, 16, 25, 32, 64, 128)  # pages
EXAMPLES = int(os.environ.get("FOREREAD_JUDGE_EXAMPLES", "25"))
EXECUTOR = Path(__file__).parents[1] / "support/readahead_guest.c"
QUEUE = "/sys/block/slow0"
SET_UP = """
set -e
tracing=/sys/kernel/tracing
test -d $tracing/instances || mount -t tracefs nodev $tracing
chmod +x /root/guest
mkdir -p $tracing/instances/judge /root/files
echo 0 >$tracing/instances/judge/tracing_on
echo 1 >$tracing/instances/judge/events/filemap/mm_filemap_add_to_page_cache/enable
uname -r
cat /sys/block/slow0/queue/max_sectors_kb
"""

pytestmark = [
    pytest.mark.boards,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing: nothing to execute"),
]


class Board:
    """A board with the executor and a file of each of SIZES."""

    def __init__(self, target: EmulatedTarget, executor: Path) -> None:
        self.target = target
        target.push(executor, "/root/guest")
        release, limit = self._checked(["sh", "-c", SET_UP]).split()
        self.rules = rules_for(version_of(release))
        self.machine = Machine(io_pages=int(limit) * 1024 // PAGE)
        self.execute([f"file {number} {size}" for number, size in enumerate(SIZES)])

    def execute(self, lines: list[str]) -> str:
        words = ["/root/guest", "/root/files", "/sys/kernel/tracing/instances/judge", QUEUE]
        return self._checked(words, "\n".join([*lines, ""]).encode())

    def _checked(self, words: list[str], stdin: bytes = b"") -> str:
        done = self.target.run(words, stdin=stdin, timeout_s=300.0)
        assert done.status == 0, done.stderr
        return done.stdout.decode()


@pytest.fixture(scope="module", params=["6.1", "6.12"])
def board(request, tmp_path_factory) -> Iterator[Board]:
    executor = tmp_path_factory.mktemp("guest") / "guest"
    subprocess.run(["gcc", "-O1", "-static", EXECUTOR, "-o", executor], check=True)
    options = LiveOptions(
        "x86_64", kernel=request.param, latency_ns=50_000, ns_per_kib=100, memory_mib=1024
    )
    with EmulatedTarget(options) as target:
        yield Board(target, executor)


def commands(drawn, window):
    """What the executor gets: one cold run."""
    script = drawn.script
    lines = [f"window {window * PAGE // 1024}", *(f"drop {size}" for size in drawn.sizes), "go"]
    for row, mapping in enumerate(script.mappings):
        handle, *numbers = map(int, mapping)
        lines.append(f"map {row} {handle + 1} {' '.join(map(str, numbers))}")
    for op, handle, mapping, at, length in script.operations:
        lines.append(
            {
                Op.OPEN: f"open {handle + 1} {drawn.sizes[script.handles[handle]]}",
                Op.READ: f"read {handle + 1} {at} {length}",
                Op.FAULT: f"touch {mapping} {at} {length}",
            }.get(op, f"advise {handle + 1} {op - Op.NORMAL} {at} {length}")
        )
    return [*lines, "end"]


def folios(answer, sizes):
    """Return (file, index, order) of each folio that came, of the program's files."""
    rows, found = {}, []
    for line in answer.splitlines():
        kind, *words = line.split()
        if kind == "inode":
            rows[words[1]] = sizes.index(int(words[0]))
        elif kind == "folio" and words[0] in rows:
            found.append((rows[words[0]], int(words[1]), int(words[2])))
    return found


@given(data=st.data())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="FOREREAD_JUDGE_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
def test_folios_are_identical_on_another_kernel(board, data):
    drawn = data.draw(programs(large=False, block=0))
    program = drawn.script.program()
    note(f"{drawn.script.files=} {drawn.script.mappings=} {drawn.script.operations=}")
    windows = data.draw(st.lists(st.sampled_from(WINDOWS), min_size=8, max_size=8, unique=True))
    answers = board.execute([line for window in windows for line in commands(drawn, window)])
    for window, answer in zip(windows, answers.split("end\n"), strict=False):
        expected = emulate(program, board.rules, window, board.machine)
        assert [folio[:3] for folio in expected.inserts] == folios(answer, drawn.sizes), window
