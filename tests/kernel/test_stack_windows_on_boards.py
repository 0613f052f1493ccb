"""From a recording on a stack to the boot script: it sets the window that counts, and no other.

That this window counts is what test_stacks_on_boards.py and test_stacks.py show.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from guest_stacks import OTHERS, STACKS, Images, StackedBoard, missing
from named_recordings import record_named_on
from program_strategy import SIZES

import foreread
from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.clusters import in_clusters
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

ALL = {**STACKS, **OTHERS}
# One of each kind of stack: what lies on it changes nothing of the window.
NAMES = ("btrfs", "overlay-erofs", "linear-ext4", "crypt-ext4", "verity-squashfs", "loop-squashfs")
SET_KB = 64

pytestmark = [
    pytest.mark.boards,
    pytest.mark.skipif(bool(missing()), reason=f"{', '.join(missing())} missing: no images"),
]


@pytest.fixture(scope="module")
def board(tmp_path_factory) -> Iterator[StackedBoard]:
    options = LiveOptions(
        "x86_64",
        kernel="6.12",
        latency_ns=1000,
        ns_per_kib=10,
        memory_mib=1800,
        scratch_mib=330,
        modules=(*sorted({one for stack in ALL.values() for one in stack.modules}), "xts"),
    )
    with EmulatedTarget(options) as target:
        yield StackedBoard(target, Images(tmp_path_factory.mktemp("stacks")))


@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
def test_the_boot_script_sets_the_window_that_counts_and_no_other(board, name, tmp_path):
    with board.stacked(ALL[name]):
        found = windows(board)
        capture = recorded(board, tmp_path / "capture")
        place = "/mnt/below" if name.startswith("overlay") else "/mnt/stack"
        device = board.device(ALL[name])
        assert [one.device for one in capture.stacks if one.mountpoint == place] == [device]
        compressed = in_clusters(load(tmp_path / "capture"))
        assert compressed == (["btrfs"] if name == "btrfs-zstd" else [])
        install(board, tmp_path)
        board.shell("sh /tmp/foreread-apply start")
        assert windows(board) == found | {backing(board, device): SET_KB}
        assert "ok" in board.shell("sh /tmp/foreread-apply status && echo ok")
        board.shell("sh /tmp/foreread-apply stop")
        assert windows(board) == found


def recorded(board, output):
    """Record a command that reads the largest file of the stack."""
    words = ["dd", f"if=/mnt/stack/{SIZES.index(max(SIZES))}", "of=/dev/null", "bs=4k"]
    return record_named_on(board.target, RecordOptions(RunOptions(words, allow_warm=True)), output)


def install(board, folder):
    """Bring the boot script that foreread makes of the capture."""
    recording = load(folder / "capture")
    prediction = foreread.predict(recording)
    made = foreread.script(
        prediction, folder / "script", capture=recording.capture, read_ahead_kb=SET_KB
    )
    board.target.push(made.files[0], "/tmp/foreread-apply")


def windows(board):
    """Return the window of each backing device, by its name."""
    lines = board.shell("grep -H . /sys/class/bdi/*/read_ahead_kb").splitlines()
    found = (line.removeprefix("/sys/class/bdi/").split("/read_ahead_kb:") for line in lines)
    return {name: int(kb) for name, kb in found}


def backing(board, device):
    """Return the name of a device's backing device: of a disk its numbers."""
    numbers = board.shell(f"cat /sys/block/{device}/dev 2>/dev/null || echo {device}")
    return numbers.strip()
