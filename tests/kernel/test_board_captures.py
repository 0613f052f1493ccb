"""An application on emulated boards, recorded at 0: what it reads there at another window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from named_recordings import record_named_on

from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.inputs import inputs
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.emulator.linux.requests import Layout
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.stepwise.replay import emulate
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions
from studies.accuracy.page_sets import started_as

WINDOW_KB = 128
COMMAND = ["madplay", "-Q", "-o", "null:", "-t", "1", "/sample.mp3"]
Page = tuple[int, int]  # inode, index

pytestmark = pytest.mark.boards


@pytest.fixture(scope="module", params=["6.1", "6.12"])
def board(request) -> Iterator[EmulatedTarget]:
    options = LiveOptions("x86_64", kernel=request.param, latency_ns=50_000, ns_per_kib=100)
    with EmulatedTarget(options) as target:
        yield target


def recorded(board, output, kb=0) -> Recording:
    run = RunOptions(COMMAND, allow_warm=True)
    record_named_on(board, RecordOptions(run, read_ahead_kb=kb), output)
    return load(output)


def stored(base: Recording, layout: Layout, pages: set[Page]) -> set[Page]:
    """Leave out the holes, which are not read."""
    rows = {ino: row for row, ino in enumerate(base.files["ino"].tolist())}
    sectors = base.page_size // 512
    return {
        (ino, page)
        for ino, page in pages
        if ino not in rows or any(layout.pieces(rows[ino], page * sectors, (page + 1) * sectors))
    }


def test_pages_that_a_board_reads_are_those_predicted_from_its_capture(board, tmp_path):
    base, run = recorded(board, tmp_path / "0"), recorded(board, tmp_path / "at", WINDOW_KB)
    version = version_of(base.kernel)
    taken = started_as(inputs(base, version), run)
    assert all(entry.extents is not None for entry in base.entries if entry and entry.path)
    assert any(entry.cached_pages for entry in base.entries if entry)  # libc: the ssh server's
    window = WINDOW_KB * 1024 // base.page_size
    outcome = emulate(taken.program, rules_for(version), window, taken.machine(0)[0])
    ino = base.files["ino"].tolist()
    predicted = {
        (ino[file], page)
        for file, first, order, _ in outcome.inserts
        for page in range(first, first + (1 << order))
    }
    data = run.inserts.data
    rows = zip(data["pid"].tolist(), data["ino"].tolist(), data["index"].tolist(), strict=True)
    read = {(inode, page) for pid, inode, page in rows if pid in run.threads}
    layout = Layout(taken.extents)
    assert stored(base, layout, predicted) == stored(base, layout, read)
