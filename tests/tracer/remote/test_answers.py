"""What a target answers may come from anybody: RecordError, or sense, and nothing else."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest
from property_tests import examples
from waiting import wait_until

from foreread.boards.device import Devices
from foreread.boards.stacks import stacks
from foreread.boards.target import LocalTarget, Result
from foreread.tracer.error import RecordError
from foreread.tracer.remote.job import Fact, Job, facts
from foreread.tracer.remote.machine import Machine
from foreread.tracer.remote.record import PARTS
from foreread.tracer.remote.run_facts import RunFacts, TraceFacts
from foreread.tracer.runs import metadata

DISK = "/sys/block/mmcblk0"
PROBE = f"""kernel 6.1.0
version #1 SMP
machine armv7l
nodename board
cpus 0-1
uptime 12.34 5.6
meminfo MemTotal: 61440 kB
meminfo MemFree: 1000 kB
meminfo MemAvailable: 30000 kB
meminfo Cached: 4000 kB
cpuinfo model name : ARMv7
mount 23 1 179:2 / / rw,noatime - ext4 /dev/root rw
mount 24 23 0:20 / /proc rw - proc proc rw
page KernelPageSize:        4 kB
order little
applet setsid
sys {DISK}/dev:179:0
sys {DISK}/size:2048
sys {DISK}/queue/read_ahead_kb:128
sys {DISK}/queue/scheduler:[none]
sys {DISK}/mmcblk0p2/dev:179:2
sys {DISK}/mmcblk0p2/partition:2
sys {DISK}/mmcblk0p2/start:512
"""
RESULT = """knob /sys/block/mmcblk0/queue/read_ahead_kb\t128\t0
now /sys/block/mmcblk0/queue/read_ahead_kb\t0
clock mono
event filemap:mm_filemap_add_to_page_cache
cold 4000 900 880
run 321 idle - 25 1
map 10000-20000 r-xp 00001000 b3:02 77 /usr/bin/app
restored /sys/block/mmcblk0/queue/read_ahead_kb\t128\t
format header_page:\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
mark # tracer: nop
mark            <...>-321     [001] .....    12.345678: tracing_mark_write: start
mark            <...>-321     [000] .....    13.345678: tracing_mark_write: end
stats 0 entries: 12
stats 1 entries: 0
"""


def parsed(text):
    return facts(text.encode())


def machine():
    return Machine.parse(parsed(PROBE))


def test_a_board_is_described_as_this_machine_would_be():
    board = machine()
    assert (board.page_size, board.cpu_count, board.memory_kib) == (4096, 2, 61440)
    assert board.applets == {"setsid"}
    with board.devices() as devices:
        assert devices.mounted() == ["mmcblk0"]
        assert devices.read_ahead_knobs(["mmcblk0"]) == [f"{DISK}/queue/read_ahead_kb"]
        disk = metadata.device(devices, "mmcblk0")
        assert (disk.dev, disk.filesystems, disk.size_bytes) == ("179:0", ["179:2"], 1 << 20)
        assert metadata.mounts(devices, {})[0].first_sector == 512


def test_the_copy_of_sysfs_is_as_good_as_sysfs():
    def seen_in(devices):
        """Return what is to be the same: by disk, and as a whole."""
        by_disk = [
            (devices.below(name), devices.superblocks(name), set(devices.queue(name)))
            for name in sorted(path.name for path in Path("/sys/block").iterdir())
        ]
        return by_disk, devices.mounted(), stacks(devices)

    def both():
        """Return what the copy and sysfs have, until nobody changed that between the two."""
        with Job(LocalTarget(), PARTS) as job:
            here = Machine.parse(job.ask("probe", step="probe"))
        with here.devices() as copied, suppress(OSError):
            looks[:] = seen_in(copied), seen_in(Devices())
        return looks if looks[0] == looks[1] else None

    looks = []
    _, real = wait_until(both, shown=lambda: looks)
    assert real[2] != []


def test_nothing_is_noted_of_a_file_system_that_was_unmounted():
    knob = "/sys/fs/ext4/mmcblk0p2/inode_readahead_blks"
    run = RunFacts.parse(parsed(RESULT + f"unset {knob}\t\tthere is no such knob\n"), machine())
    assert knob not in run.before
    assert not [note for note in run.notes if knob in note]
    refused = RunFacts.parse(parsed(RESULT + f"unset {knob}\t32\tread-only\n"), machine())
    assert f"{knob} cannot be set (read-only): it stayed at 32" in refused.notes


def test_times_windows_and_files_of_a_run():
    run = RunFacts.parse(parsed(RESULT), machine())
    assert (run.start_ns, run.end_ns) == (12_345_677_500, 13_345_678_000 - 250_000_000)
    assert (run.pid, run.by, run.ended, run.living) == (321, "idle", None, 1)
    assert run.windows == {f"{DISK}/queue/read_ahead_kb": 0}
    assert run.before == {f"{DISK}/queue/read_ahead_kb": 128}
    assert run.mapped == {("179:2", 77): "/usr/bin/app"}
    assert run.cold.proven
    traced = TraceFacts.parse(parsed(RESULT))
    assert traced.stats == {0: "entries: 12\n", 1: "entries: 0\n"}
    assert traced.formats["header_page"].startswith("\tfield: u64 timestamp")


def test_a_boot_is_cold_by_its_restart_and_keeps_what_it_had_read():
    run = RunFacts.parse(
        parsed(RESULT.replace("cold 4000 900 880", "restarted 4000 880")), machine()
    )
    assert (run.cold.proven, run.cold.resident_pages) == (True, 1000)
    assert run.cold.how.startswith("the target was restarted; 1,000 pages that")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("page KernelPageSize:        4 kB", "page KernelPageSize:        0 kB"),
        ("order little", "order sideways"),
        ("cpus 0-1", "cpus 1-0"),
        ("cpus 0-1", "cpus lots"),
        ("meminfo MemTotal: 61440 kB", "meminfo nonsense"),
        ("mount 23 1 179:2 / / rw,noatime - ext4 /dev/root rw", "mount 23"),
        ("kernel 6.1.0\n", ""),
    ],
)
def test_a_machine_that_cannot_be_is_refused(old, new):
    assert old in PROBE
    with pytest.raises(RecordError, match="cannot parse") as error:
        Machine.parse(parsed(PROBE.replace(old, new)))
    assert error.value.remedy


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("run 321 idle", "run 0 idle"),
        ("run 321 idle", "run 321 boredom"),
        ("run 321 idle - 25 1", "run 321"),
        ("mark            <...>-321     [000] .....    13", "mark [000]    11"),
        ("cold 4000 900 880", "cold"),
        ("cold 4000 900 880", "restarted 4000"),
        (": end", ": over"),
        ("\t128\t0", "\t0"),
    ],
)
def test_a_run_that_cannot_be_is_refused(old, new):
    assert old in RESULT
    with pytest.raises(RecordError, match="cannot parse"):
        RunFacts.parse(parsed(RESULT.replace(old, new)), machine())


@pytest.mark.parametrize(
    "path",
    ["block/../../etc/passwd", "block/x/queue/../../../evil", "block/./dev", "etc/passwd"],
)
def test_no_file_is_written_outside_of_the_copy(path):
    board = Machine.parse(parsed(PROBE + f"sys /sys/{path}:content\n"))
    assert not [name for name in board.sysfs if ".." in name or "etc" in name or "/./" in name]


def test_a_partition_called_like_a_file_does_no_harm():
    board = Machine.parse(parsed(PROBE + f"sys {DISK}/size/dev:1:1\n"))
    with board.devices() as devices:
        assert devices.mounted() == ["mmcblk0"]


def test_damaged_answers_are_refused_or_read():
    rng, read, refused = random.Random(3), 0, 0

    def damaged(text):
        text = list(text.encode())
        for _ in range(rng.randrange(4)):
            text[rng.randrange(len(text))] = rng.choice(b"\0\n \t:-/9x\xff")
        return facts(bytes(text))

    for _ in range(examples(400)):
        answer = damaged(RESULT)
        try:
            board = Machine.parse(damaged(PROBE))
            RunFacts.parse(answer, board)
            TraceFacts.parse(answer)
            with board.devices() as devices:
                devices.mounted()
        except RecordError as error:
            assert error.remedy
            refused += 1
        else:
            read += 1
    assert read > 20 and refused > 20, (read, refused)


class Answering:
    """A target that gives the same answer to everything."""

    def __init__(self, stdout, status=0, stderr=b""):
        self.result = Result(status, stdout, stderr)

    def run(self, command, stdin=b"", timeout_s=None):
        return self.result

    def push(self, source, destination, mode=0o644):
        raise AssertionError("nothing is pushed to a place that makes no sense")


@pytest.mark.parametrize(
    "place", [b"", b"place relative", b"place /tmp/\x1b[31m", b"place /tmp/x\nuptime no"]
)
def test_an_invalid_place_is_refused(place):
    with (
        pytest.raises(RecordError, match="cannot parse"),
        Job(Answering(place + b"\n"), PARTS),
    ):
        pass


def test_errors_of_the_target_come_with_their_remedy():
    answer = Answering(b"error no folder in memory|mount one\n", 1)
    with pytest.raises(RecordError, match="no folder in memory") as error, Job(answer, PARTS):
        pass
    assert error.value.remedy == "mount one"


def test_a_target_without_a_shell_says_which_step_failed():
    answer = Answering(b"", 127, b"sh: not found\n")
    with (
        pytest.raises(RecordError, match=r"looking for a working folder .*127: sh: not found"),
        Job(answer, PARTS),
    ):
        pass


def test_facts_are_lines_of_key_and_value():
    assert facts(b"a b c\nalone\n\nd \xff\n") == [Fact("a", "b c"), Fact("d", "\udcff")]


def test_only_a_clock_that_runs_ahead_makes_the_guard_more_patient():
    real, warped = Job(LocalTarget(), PARTS), Job(LocalTarget(), PARTS)
    for uptime_s in (100.0, 100.5):
        real.saw_clock(uptime_s)
    for uptime_s in (100.0, 190.0):
        warped.saw_clock(uptime_s)
    assert real.lease_s(5) == 15
    assert warped.lease_s(5) > 15 * 90
