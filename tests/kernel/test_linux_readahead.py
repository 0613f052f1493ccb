"""The emulated readahead against the running kernel: generated programs, cold, by window.

Folios, readahead windows and, where a file's place is known, block requests are identical.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from loop_image import mounted
from program_strategy import SIZES, programs
from readahead_judge import PAGE, Judge, judge
from rings import further

from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.requests import EXTENT, Layout, Limits, requests
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.stepwise.replay import emulate
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.runs.extents import extents_of, open_regular

WINDOWS = (0, 1, 2, 3, 4, 7, 8, 16, 25, 32, 64, 128)  # pages
EXAMPLES = int(os.environ.get("FOREREAD_JUDGE_EXAMPLES", "25"))  # raise it to judge new rules
BLOCK = 32
MAKERS = {
    "ext4": "mkfs.ext4 -q -F",
    "ext4 without large folios": "mkfs.ext4 -q -F",
    "xfs": "mkfs.xfs -q",
    "squashfs": "mksquashfs",
}
RULES = rules_for(version_of(os.uname().release))

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: readahead was not compared"),
]


@dataclass
class Place:
    """A mounted file system with a file of each of SIZES."""

    kind: str
    paths: list[Path]
    judge: Judge

    @property
    def large(self) -> bool:
        return self.kind in ("ext4", "xfs")

    @property
    def block(self) -> int:
        return BLOCK if self.kind == "squashfs" else 0

    def machine(self) -> Machine:
        return Machine(page_size=PAGE, io_pages=self.judge.limit("max_sectors_kb") * 1024 // PAGE)

    def limits(self) -> Limits:
        names = ("max_sectors_kb", "max_segments", "max_segment_size")
        return Limits(*map(self.judge.limit, names))

    def extents(self, sizes: list[int]) -> np.ndarray:
        rows = []
        for row, size in enumerate(sizes):
            with open_regular(str(self.paths[size])) as descriptor:
                for *where, written in extents_of(descriptor):
                    rows.append((row, *(number // 512 for number in where), written))
        return np.array(rows, EXTENT)


def run(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def fill(directory):
    for number, size in enumerate(SIZES):
        (directory / str(number)).write_bytes(os.urandom(size))


@pytest.fixture(scope="module", params=further(MAKERS, ["ext4"]))
def place(request, tmp_path_factory):
    kind = request.param
    maker, *options = MAKERS[kind].split()
    if shutil.which(maker) is None:
        pytest.skip(f"{maker} is missing: readahead on {kind} was not compared")
    directory = tmp_path_factory.mktemp("readahead")
    image, here = directory / "image", directory / "mounted"
    with ExitStack() as stack:
        if kind == "squashfs":
            (directory / "source").mkdir()
            fill(directory / "source")
            run(maker, directory / "source", image, "-b", BLOCK * PAGE, "-quiet", "-no-progress")
        else:
            run("truncate", "-s", "400M", image)
            run(maker, *options, image)
            if "without" in kind:  # data=journal does without them
                run("tune2fs", "-o", "journal_data", image)
        device = stack.enter_context(mounted(image, here))
        if kind != "squashfs":
            fill(here)
            run("sync", "-f", here)
        found = stack.enter_context(
            judge(stack.enter_context(tracefs_mount.mounted()), here, device)
        )
        yield Place(kind, [here / str(number) for number in range(len(SIZES))], found)


@given(data=st.data())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="FOREREAD_JUDGE_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
def test_folios_windows_and_requests_are_identical(place, data):
    drawn = data.draw(programs(large=place.large, block=place.block))
    program = drawn.script.program()
    note(f"{drawn.script.files=} {drawn.script.mappings=} {drawn.script.operations=}")
    paths = [place.paths[size] for size in drawn.sizes]
    for window in data.draw(
        st.lists(st.sampled_from(WINDOWS), min_size=8, max_size=8, unique=True)
    ):
        seen = place.judge.run(paths, program, window)
        expected = emulate(program, RULES, window, place.machine())
        assert [insert[:3] for insert in expected.inserts] == seen.inserts, window
        if place.judge.sees_windows:
            assert expected.windows == seen.windows, window
        if not place.block:
            extents = place.extents(drawn.sizes)
            found = requests(expected, Layout(extents), place.limits(), PAGE, seen.joined)
            of_data = [r for r in seen.requests if "M" not in r[0] and inside(extents, r[1])]
            assert sorted(r[1:3] for r in found) == sorted(r[1:] for r in of_data), window


def inside(extents, sector):
    starts = extents["sector"]
    return bool(((starts <= sector) & (sector < starts + extents["sectors"])).any())
