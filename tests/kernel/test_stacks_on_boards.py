"""The emulated readahead against kernels with other file systems and stacks: 5.10 to 7.2.

As test_linux_boards.py does with ext4: generated programs, cold, by window. Pages after the ends of
files cost no I/O, and are not compared.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from guest_programs import EXECUTOR, SET_UP, WINDOWS, commands, folios
from guest_stacks import STACKS, Images, StackedBoard, missing
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from program_strategy import SIZES, programs
from programs import PAGE

from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.emulator.linux.filesystems import SQUASHFS_BLOCK, has_large_folios, own_io_pages
from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.stepwise.replay import emulate

EXAMPLES = int(os.environ.get("FOREREAD_JUDGE_EXAMPLES", "5"))
SCRATCH_MIB = 330
# What lies between file system and disk hands its requests on, whatever the kernel: on one alone.
ON_EACH_KERNEL = ("squashfs", "erofs", "xfs", "btrfs", "overlay-squashfs")
CASES = [
    *(("6.12", name) for name in STACKS),
    *((kernel, name) for kernel in ("5.10", "6.1", "7.2") for name in ON_EACH_KERNEL),
]
# dm-crypt's cipher is a module of these kernels, and built in otherwise.
XTS = {"6.1": ("xts",), "6.12": ("xts",)}

pytestmark = [
    pytest.mark.boards,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing: nothing to execute"),
    pytest.mark.skipif(bool(missing()), reason=f"{', '.join(missing())} missing: no images"),
]


@pytest.fixture(scope="module")
def board(request, tmp_path_factory) -> Iterator[StackedBoard]:
    folder = tmp_path_factory.mktemp("stacks")
    subprocess.run(["gcc", "-O1", "-static", EXECUTOR, "-o", folder / "guest"], check=True)
    modules = {module for stack in STACKS.values() for module in stack.modules}
    options = LiveOptions(
        "x86_64",
        kernel=request.param,
        latency_ns=1000,
        ns_per_kib=10,
        memory_mib=1800,
        scratch_mib=SCRATCH_MIB,
        modules=(*sorted(modules), *XTS.get(request.param, ())),
    )
    with EmulatedTarget(options) as target:
        found = StackedBoard(target, Images(folder), folder / "guest")
        found.shell(SET_UP)
        yield found


@pytest.mark.parametrize(("board", "name"), CASES, indirect=["board"])
def test_pages_are_identical_on_other_roots(board, name):
    stack = STACKS[name]
    version = version_of(board.shell("uname -r"))
    rules, large = rules_for(version), has_large_folios(stack.fstype, "", version)
    with board.stacked(stack) as limit_kb:
        io_pages = own_io_pages(version, PAGE) if limit_kb is None else limit_kb * 1024 // PAGE
        judge(board, stack, rules, Machine(io_pages=io_pages), large)


def judge(board, stack, rules, machine, large):
    """Compare the pages that generated programs bring in with the emulation's."""

    @given(data=st.data())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize="FOREREAD_JUDGE_EXAMPLES" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    def identical(data):
        block = SQUASHFS_BLOCK // PAGE if stack.fstype == "squashfs" else 0
        drawn = data.draw(programs(large=large, block=block))
        program = drawn.script.program()
        note(f"{drawn.script.files=} {drawn.script.mappings=} {drawn.script.operations=}")
        windows = data.draw(st.lists(st.sampled_from(WINDOWS), min_size=6, max_size=6, unique=True))
        answers = board.execute([line for window in windows for line in commands(drawn, window)])
        for window, answer in zip(windows, answers.split("end\n"), strict=False):
            expected = emulate(program, rules, window, machine)
            found = folios(answer, drawn.sizes)
            assert pages(expected.inserts, drawn.sizes) == pages(found, drawn.sizes), window

    identical()


def pages(inserts, sizes):
    """Return the pages within the files, with the folios that they are in."""
    ends = [-(-SIZES[size] // PAGE) for size in sizes]
    return sorted(insert[:3] for insert in inserts if insert[1] < ends[insert[0]])
