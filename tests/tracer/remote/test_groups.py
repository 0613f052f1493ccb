"""A board's shell finds the control group that limits block I/O as Python does."""

from __future__ import annotations

import pytest
from foreread.tracer.local.disk.groups import group_folder, io_group
from shells import BUSYBOX, DASH, each_shell, function, printed

from foreread.boards.mounts import MountPoint

V1 = ("cgroup", "/sys/fs/cgroup/blkio", "rw,relatime,blkio")
BOTH = ("cgroup", "/sys/fs/cgroup/io,cpu", "rw,cpu,blkio")
CPU = ("cgroup", "/sys/fs/cgroup/cpu", "rw,relatime,cpu")
V2 = ("cgroup2", "/sys/fs/cgroup/unified", "rw,nsdelegate")
MOUNTS = [(), (CPU,), (V2,), (CPU, V2), (V2, V1), (V1, V2), (BOTH,), (V2, CPU, BOTH)]
PROCESSES = [
    "8:pids:/p\n7:blkio:/slow\n0::/unified\n",
    "3:cpu,blkio:/a:b\n",
    "0::/system.slice/a:b.scope\n",
    "5:cpu:/c\n1:name=systemd:/d\n0::/\n",
    "5:cpu:/c\n",
]


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_where_groups_are_mounted(shell):
    text = function("load.sh", "find_groups") + 'find_groups\necho "$groups"'
    for mounts in MOUNTS:
        lines = "".join(f"cgroup {at} {kind} {options} 0 0\n" for kind, at, options in mounts)
        points = [
            MountPoint("0:1", "/", at, "rw", kind, "cgroup", options)
            for kind, at, options in mounts
        ]
        folder = group_folder("/", points)
        assert printed(shell, text, lines) == ("" if folder is None else str(folder))


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_which_group_a_process_is_in(shell, tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7/stat").write_text("7 (a) S 1 7 7 0 -1 4194304 99")
    text = function("beside.sh", "find_group") + 'find_group\necho "$group"'
    for lines in PROCESSES:
        (tmp_path / "7/cgroup").write_text(lines)
        assert printed(shell, text, lines) == (io_group(7, tmp_path) or "")
