"""The end of a load on a board."""

from __future__ import annotations

import os
import secrets
from importlib import resources
from pathlib import Path

import pytest
from shells import BUSYBOX, each_shell, function, printed

from foreread.boards.base.owner import MARK

START = """
start_of $!
echo "$! $started" >"$job/load.pid"
echo >&5
end_load "$job"
"""


@pytest.fixture
def small_file():
    """A file in memory, which no reader reads from a disk."""
    path = Path("/dev/shm", f"small-{secrets.token_hex(8)}")
    path.write_bytes(os.urandom(1 << 20))
    yield path
    path.unlink()


def processes(mark):
    """Return the processes that have this in their environment."""
    marked = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes():
                marked.append((process / "cmdline").read_bytes())
        except OSError:
            continue
    return marked


@pytest.mark.parametrize("shell", each_shell(BUSYBOX))
def test_a_load_that_waits_for_its_effect_is_ended_with_its_programs(shell, small_file, tmp_path):
    text = "".join(function("lib.sh", name) for name in ("start_of", "alive", "nap"))
    text += function("held.sh", "end_load")
    disk = min(Path("/sys/block").iterdir()).name
    load = tmp_path / "load.sh"
    text_of_load = (resources.files("foreread.tracer.remote") / "load.sh").read_text()
    load.write_text(text_of_load.replace(function("load.sh", "works"), "works() { false; }\n"))
    mark = f"{MARK}_TEST={secrets.token_hex(8)}"
    (tmp_path / "load").mkdir()
    words = f"{' '.join(shell)} {load} reader {small_file} 0 {disk} {tmp_path}/load"
    start = f'job={tmp_path}\nmkfifo "$job/load.in"\nexec 5<>"$job/load.in"\n'
    start += f'env {mark} {words} <"$job/load.in" 5>&- >"$job/load.out" 2>&1 &\n'
    printed(shell, text + start + START)
    assert processes(mark.encode()) == []
    assert not (tmp_path / "load").exists()
