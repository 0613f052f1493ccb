"""The squashfs of a target, as its shell describes them, and its kernel's configuration."""

from __future__ import annotations

import gzip
import subprocess
from importlib import resources
from pathlib import Path

import pytest
from shells import each_shell

from foreread.boards.mounts import MountPoint
from foreread.boards.target import LocalTarget
from foreread.tracer.formats.capture import Squashfs
from foreread.tracer.local.kernel_options import local_options
from foreread.tracer.remote.images import images_on, options_on
from foreread.tracer.remote.job import Job, facts
from foreread.tracer.remote.machine import Machine
from foreread.tracer.remote.record import PARTS
from foreread.tracer.runs.kernel_options import KERNEL_OPTIONS

MOUNTINFO = """\
22 1 179:2 / / ro - squashfs /dev/root ro
23 22 0:21 / / rw - overlay overlay rw
24 23 179:300 / /rom\\040of\\040it ro shared:1 - squashfs /dev/x ro
25 23 179:4 / /data rw - ext4 /dev/y rw
"""
STAT = """\
stat() {
    case "$*" in
        "-c %d %o /") echo "21 4096" ;;
        "-c %d %o /rom of it") echo "1094444 1024" ;;
        "-f -c %s /rom of it") echo 262144 ;;
        *) return 1 ;;
    esac
}
"""
NO_STAT = "stat() { return 127; }"


def printed(shell, part, words, file, place):
    """Return what a part of a job's script prints, with a file in the place of one of /proc."""
    text = (resources.files("foreread.tracer.remote") / part).read_text().replace(file, str(place))
    done = subprocess.run(
        [*shell, "-c", f"{text}\n{words}"], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("shell", each_shell())
def test_sizes_of_a_visible_squashfs_are_printed(tmp_path, shell):
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text(MOUNTINFO)

    def with_stat(stat):
        words = f"{stat}\nprint_squashfs"
        return printed(shell, "disks.sh", words, "/proc/self/mountinfo", mountinfo)

    # 179:300 is 300 & 255 | 179 << 8 | (300 & ~255) << 12: the overlay hides 179:2.
    assert with_stat(STAT) == "squashfs 179:300 262144 1024\n"
    assert with_stat(NO_STAT) == ""


def machine_of(line):
    probe = f"""\
kernel 6.1
version #1
nodename board
machine mips
cpus 0
uptime 1.00 1.00
meminfo MemTotal: 61440 kB
meminfo MemFree: 30000 kB
meminfo MemAvailable: 30000 kB
meminfo Buffers: 0 kB
meminfo Cached: 9000 kB
page KernelPageSize: 4 kB
order big
{line}
"""
    return Machine.parse(facts(probe.encode()))


@pytest.mark.parametrize(
    ("line", "sizes"),
    [
        ("squashfs 31:5 262144 4096", {"31:5": (262144, 4096)}),
        ("squashfs 31:5  4096", {"31:5": (0, 4096)}),
        ("squashfs 31:5 262144? 99999999999", {"31:5": (0, 0)}),
        ("applet find", {}),
    ],
)
def test_a_target_s_sizes_are_parsed_strictly(line, sizes):
    assert machine_of(line).squashfs == {
        dev: Squashfs(block_bytes=block, device_block_bytes=unit)
        for dev, (block, unit) in sizes.items()
    }


class _Answering:
    """A job whose target has one disk with this head."""

    def __init__(self, head):
        self.head = head

    def ask(self, verb, dev, step):
        return facts(b"node /dev/mtdblock5\n" if (verb, dev) == ("disk_node", "31:5") else b"\n")

    def raw(self, verb, node, size, *runs, step):
        assert (verb, node, runs) == ("blocks", "/dev/mtdblock5", ("0", "1"))
        return subprocess.CompletedProcess([], 0, self.head[: int(size)])


def test_the_superblock_completes_what_the_target_shows():
    head = bytes.fromhex("68737173") + bytes(8) + (1 << 18).to_bytes(4, "little") + bytes(4)
    head += bytes([4, 0, 18, 0, 0, 0, 0, 0, 4, 0, 0, 0]) + bytes(512)
    mounts = [
        MountPoint(dev, "/", place, "ro", "squashfs", "", "ro")
        for dev, place in (("31:5", "/"), ("31:6", "/rom"), ("31:7", "/snap"))
    ]
    seen = {"31:7": Squashfs(block_bytes=131072, device_block_bytes=1024)}
    found = images_on(_Answering(head), mounts, seen, {"31:5", "31:6"})
    assert found == {
        "31:5": Squashfs(block_bytes=1 << 18, compressor="xz"),
        "31:6": Squashfs(),
        "31:7": seen["31:7"],
    }


@pytest.mark.parametrize("shell", each_shell())
def test_options_are_those_that_this_machine_reads_itself(shell):
    with Job(LocalTarget(), PARTS, shell) as job:
        machine = Machine.parse(job.ask("probe", step="probe"))
        assert options_on(job, machine) == local_options()
        assert machine.huge_pages == Path("/sys/kernel/mm/transparent_hugepage").is_dir()


@pytest.mark.parametrize("shell", each_shell())
def test_options_are_found_in_a_packed_configuration(tmp_path, shell):
    config = tmp_path / "config.gz"
    config.write_bytes(gzip.compress(b"CONFIG_SQUASHFS_4K_DEVBLK_SIZE=y\nCONFIG_OTHER=y\n"))
    words = f"kernel_options {' '.join(KERNEL_OPTIONS)}"
    found = printed(shell, "record.sh", words, "/proc/config.gz", config)
    assert found == "option CONFIG_SQUASHFS_4K_DEVBLK_SIZE=y\n"
