"""A board's shell finds the control groups that limit reads and memory as Python does."""

from __future__ import annotations

import pytest
from shells import BUSYBOX, DASH, each_shell, function, printed

from foreread.boards.mounts import MountPoint
from foreread.tracer.local.groups import group_folder, group_of

V1 = ("cgroup", "/sys/fs/cgroup/blkio", "rw,relatime,blkio")
BOTH = ("cgroup", "/sys/fs/cgroup/io,cpu", "rw,cpu,blkio")
CPU = ("cgroup", "/sys/fs/cgroup/cpu", "rw,relatime,cpu")
V2 = ("cgroup2", "/sys/fs/cgroup/unified", "rw,nsdelegate")
MOUNTS = [(), (CPU,), (V2,), (CPU, V2), (V2, V1), (V1, V2), (BOTH,), (V2, CPU, BOTH)]
PROCESSES = [
    "9:memory:/small\n7:blkio:/slow\n0::/unified\n",
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
        folder = group_folder("/", "blkio", points)
        assert printed(shell, text, lines) == ("" if folder is None else str(folder))


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
@pytest.mark.parametrize("controller", ["blkio", "memory"])
def test_which_group_a_process_is_in(shell, controller, tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7/stat").write_text("7 (a) S 1 7 7 0 -1 4194304 99")
    text = function("memory.sh", "find_group") + f'find_group {controller}\necho "$group"'
    for lines in PROCESSES:
        (tmp_path / "7/cgroup").write_text(lines)
        assert printed(shell, text, lines) == (group_of(7, controller, tmp_path) or "")


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_where_groups_for_memory_are_mounted(shell, tmp_path):
    """Version 2 counts only where it has the controller for memory."""
    functions = function("memory.sh", "has_word") + function("memory.sh", "find_hierarchy")
    text = functions + 'find_hierarchy || :\necho "$version $hierarchy"'
    v2 = f"cgroup2 {tmp_path} cgroup2 rw,nsdelegate 0 0\n"
    v1 = "cgroup /groups/memory cgroup rw,memory 0 0\ncgroup /groups/cpu cgroup rw,cpu 0 0\n"
    controllers = tmp_path / "cgroup.controllers"
    controllers.write_text("cpuset cpu io pids\n")
    assert [printed(shell, text, lines) for lines in ("", v2)] == [" ", " "]
    controllers.write_text("cpuset cpu io memory pids\n")
    assert printed(shell, text, v2) == f"2 {tmp_path}"
    assert printed(shell, text, v2 + v1) == printed(shell, text, v1 + v2) == "1 /groups/memory"


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_use_of_a_group_without_pages_of_files(shell, tmp_path):
    (tmp_path / "memory.usage_in_bytes").write_text(f"{10 << 20}\n")
    (tmp_path / "memory.stat").write_text(
        f"cache {7 << 20}\nshmem 0\ninactive_file {4 << 20}\nactive_file {2 << 20}\n"
        f"total_inactive_file {4 << 20}\n"
    )
    text = function("memory.sh", "used_of")
    text += f"{{ used_of {tmp_path}; }} 2>/dev/null\necho $used"
    assert printed(shell, text) == str(4 << 10)


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_a_kernel_without_control_groups_for_memory_is_named(shell, tmp_path):
    functions = function("lib.sh", "die") + function("memory.sh", "make_memory_group")
    functions += "find_hierarchy() { return 1; }\nmount_hierarchy() { return 1; }\n"
    text = f"{functions}job={tmp_path} memory_kib=8192\n(make_memory_group) || :"
    said = printed(shell, text)
    assert said.startswith("error this kernel has no control groups for memory|")
    assert "CONFIG_MEMCG" in said and "without --memory" in said
    assert printed(shell, f"{functions}memory_kib=\nmake_memory_group") == ""


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_a_group_of_version_2_is_made_where_its_memory_can_be_limited(shell, tmp_path):
    """A group that has processes limits none in it: systemd enables memory above."""
    top, own = tmp_path / "groups", tmp_path / "groups/user.slice/session 1"
    own.mkdir(parents=True)
    for folder, enabled in ((top, "cpu memory pids\n"), (own.parent, "memory\n"), (own, "")):
        (folder / "cgroup.subtree_control").write_text(enabled)
    functions = function("memory.sh", "has_word") + function("memory.sh", "find_parent")
    functions += "find_group() { group='/user.slice/session 1'; }\n"
    text = f'{functions}job={tmp_path} hierarchy={top} version=2\nfind_parent\necho "$parent"'
    assert printed(shell, text) == str(own.parent)
    (own.parent / "cgroup.subtree_control").write_text("pids\n")
    assert printed(shell, text) == str(top)
    assert not (tmp_path / "memory_enabled").exists()
    (top / "cgroup.subtree_control").write_text("cpu\n")
    assert printed(shell, text) == str(top)
    assert (tmp_path / "memory_enabled").read_text() == f"{top}/cgroup.subtree_control\n"
    assert (top / "cgroup.subtree_control").read_text() == "+memory\n"
