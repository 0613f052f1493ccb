"""The profile of the live machine, and of a made-up one."""

import os

from boards.device import Devices
from boards.live import live_profile
from boards.mounts import MountPoint
from boards.profile import decode_profile
from boards.profile_toml import encode_profile

CPUINFO = "processor\t: 0\nmodel name\t: ARMv7 Processor rev 5 (v7l)\n\nHardware\t: Generic\n"


def machine(tmp_path, queue):
    disk = tmp_path / "sys/block/mmcblk0"
    (disk / "queue").mkdir(parents=True)
    (disk / "dev").write_text("179:0\n")
    (disk / "size").write_text("16384\n")
    for name, value in queue.items():
        (disk / "queue" / name).write_text(value)
    links = tmp_path / "sys/dev/block"
    links.mkdir(parents=True)
    (links / "179:0").symlink_to(disk)
    (tmp_path / "proc").mkdir()
    mount = MountPoint("179:0", "/", "/", "ro", "squashfs", "/dev/absent", "ro")
    return Devices(tmp_path / "sys", [mount]), tmp_path / "proc"


def test_this_machine_has_a_profile_that_reads_back():
    profile = live_profile()
    assert profile.kernel.release == os.uname().release
    assert profile.kernel.page_size_bytes == os.sysconf("SC_PAGE_SIZE")
    assert profile.memory.size_mib << 20 < os.sysconf("SC_PHYS_PAGES") * os.sysconf(
        "SC_PAGE_SIZE"
    ) + (1 << 20)
    assert [disk.name for disk in profile.storage] == Devices().mounted()
    assert decode_profile(encode_profile(profile).encode(), "F") == profile


def test_what_a_machine_says_is_taken(tmp_path):
    queue = {"read_ahead_kb": "128\n", "scheduler": "none [mq-deadline] bfq\n"}
    devices, proc = machine(tmp_path, queue)
    (proc / "cpuinfo").write_text(CPUINFO)
    (proc / "meminfo").write_text("MemTotal:         509116 kB\nMemFree: 1 kB\n")
    profile = live_profile(devices, proc)
    (disk,) = profile.storage
    assert (disk.name, disk.kind, disk.size_mib) == ("mmcblk0", "MMC", 8)
    assert (disk.read_ahead_kb, disk.scheduler) == (128, "mq-deadline")
    assert disk.file_systems == ["squashfs"]
    assert profile.cpu.model == "ARMv7 Processor rev 5 (v7l)"
    assert profile.memory.size_mib == 497


def test_what_a_machine_does_not_say_is_absent(tmp_path):
    devices, proc = machine(tmp_path, {})
    text = encode_profile(live_profile(devices, proc))
    for unknown in ("read_ahead_kb", "scheduler", "memory", "model", "defaults", "cost"):
        assert f"{unknown} =" not in text
        assert f"[{unknown}]" not in text
    assert decode_profile(text.encode(), "F")
