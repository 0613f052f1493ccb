"""The profile of the live machine, and of a made-up one."""

import os
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import UNSET
from waiting import wait_until

from foreread.boards.device import Devices
from foreread.boards.live import live_profile, target_profile
from foreread.boards.mounts import MountPoint
from foreread.boards.profile import ProfileError, decode_profile
from foreread.boards.profile_toml import encode_profile
from foreread.boards.target import LocalTarget, Result

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
    # Others may mount or unmount a disk between two looks.
    wait_until(lambda: [disk.name for disk in live_profile().storage] == Devices().mounted())
    assert decode_profile(encode_profile(profile).encode(), "F") == profile


def test_reported_facts_are_used(tmp_path):
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


def test_unreported_facts_are_absent(tmp_path):
    devices, proc = machine(tmp_path, {})
    text = encode_profile(live_profile(devices, proc))
    for unknown in ("read_ahead_kb", "scheduler", "memory", "model", "defaults", "cost"):
        assert f"{unknown} =" not in text
        assert f"[{unknown}]" not in text
    assert decode_profile(text.encode(), "F")


def test_target_and_local_facts_of_this_machine_agree():
    there, here = target_profile(LocalTarget()), live_profile()
    assert (there.name, there.cpu, there.memory, there.kernel) == (
        here.name,
        here.cpu,
        here.memory,
        here.kernel,
    )
    # Another test may mount or unmount a disk meanwhile: those of the root are always there.
    root = Devices().disks_of_path(Path("/"))
    assert {disk.name for disk in there.storage} >= set(root)
    assert {disk.name: disk.file_systems for disk in there.storage}.items() >= {
        disk.name: disk.file_systems for disk in here.storage if disk.name in root
    }.items()


class Liar:
    """A target that answers as it likes."""

    def __init__(self, answers):
        self.answers = answers

    def run(self, command, stdin=b"", timeout_s=None, stdout=None):
        return Result(0, self.answers.get(command[0], b""), b"")

    def read_knob(self, path):
        if path not in self.answers:
            raise FileNotFoundError(path)
        return os.fsdecode(self.answers[path])


KNOBS = [
    "/proc/sys/kernel/osrelease",
    "/sys/devices/system/cpu/online",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/sys/vm/swappiness",
    "/proc/self/mountinfo",
]
SENSE = [
    b"9" * 400,
    b"-1",
    "\u0661\u0662".encode(),
    b"x" * 5000,
    b'x"\n[transport]\nkind = "local"',
    b"\xff\x00\x1b[2J",
    b"MemTotal: 99999999999999999999 kB",
    b"MemTotal: kB",
    b"KernelPageSize:   18014398509481984 kB",
    b"0-99999999999999999999",
    b"5-0,,",
    b"1 0 8:0 / / rw - ext4 /dev/sda rw",
    b"1 0 8:0 / / rw - " + b"e" * 9000 + b" /dev/sda rw",
    b"1 0 0:5 / / rw - overlay none rw,lowerdir=/:/a,upperdir=/,workdir=/w",
    b"/sys/block/sda/dev:8:0\n/sys/block/sda/size:abc\n/sys/block/../../etc/dev:1:1",
    b"/sys/block/sda/dev:8:0\n/sys/block/sda/size:99999999999999999999999",
    b"/sys/block/" + b"a" * 300 + b"/dev:8:0",
    b"/sys/block/sda/dev:8:0\n/sys/block/sda/dev/dev:8:1",
    b"/sys/block/sda/dev:8:0\n/sys/block/sda/queue/scheduler:[\x1b[0m]",
]
answers = st.dictionaries(
    st.sampled_from(["uname", "grep", "dd", "sh", *KNOBS]), st.sampled_from(SENSE) | st.binary()
)


@given(answers=answers)
@example(answers={"/proc/self/mountinfo": SENSE[11], "sh": SENSE[14]})
@example(answers={"/proc/self/mountinfo": SENSE[11], "sh": SENSE[15]})
@example(answers={"/proc/self/mountinfo": SENSE[11], "sh": SENSE[16]})
@example(answers={"/proc/self/mountinfo": SENSE[11], "sh": SENSE[17]})
@example(answers={"/proc/self/mountinfo": SENSE[11], "sh": SENSE[18]})
@example(answers={"/proc/self/mountinfo": SENSE[12], "sh": SENSE[18]})
@example(answers=dict.fromkeys(["uname", *KNOBS], SENSE[4]))
def test_hostile_facts_of_a_target_are_dropped_or_refused(answers):
    try:
        profile = target_profile(Liar(answers))
    except ProfileError as error:
        assert error.remedy
    else:
        assert decode_profile(encode_profile(profile).encode(), "F") == profile
        assert profile.transport is UNSET


def test_absurd_facts_are_absent():
    profile = target_profile(
        Liar(
            {
                "uname": b"x\x1b[2J\n",
                "/proc/meminfo": SENSE[6],
                "/sys/devices/system/cpu/online": SENSE[9],
                "/proc/sys/vm/swappiness": SENSE[0],
                "/proc/sys/kernel/osrelease": b"6.1.0",
            }
        )
    )
    assert (profile.cpu, profile.memory, profile.defaults) == (UNSET, UNSET, UNSET)
    assert profile.kernel.release == "6.1.0"
    assert (profile.storage, profile.kernel.page_size_bytes) == ([], UNSET)
