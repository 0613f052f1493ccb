"""The rules of file systems against mkfs and mount themselves, and trials on real loop devices."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from guards import guards_of
from rings import further
from waiting import left_s, wait_until

from foreread.boards.target import LocalTarget
from foreread.tracer.error import RecordError
from foreread.tracer.local.journal import restore_leftovers
from studies.tuning import storage_trial
from studies.tuning.storage_chromosomes import (
    configurations,
    defaults,
    is_valid,
    make_words,
    mount_words,
    storage_space,
)
from studies.tuning.storage_rules import today
from studies.tuning.storage_trial import FileSystem, StorageBench, StorageError, loop_device

SIZE = 384 << 20
RULES = today(SIZE)
ROOT = Path(__file__).parents[2]
HERE = ("ext2", "ext3", "ext4", "xfs", "btrfs")  # what this kernel may have
FORCE = {"ext": ("-q", "-F"), "xfs": ("-q", "-f"), "btr": ("-q", "-f")}
EACH_FILE_SYSTEM = pytest.mark.parametrize("file_system", further(HERE, ["ext4"]))
# One operation of each kind is enough.
JOB = """
[global]
thread
ioengine=psync
filesize=16k
bs=16k
nrfiles=4
openfiles=1
[both]
rw=randrw
fsync=1
time_based
"""

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no file system was made and mounted"),
]


def need(file_system):
    absent = [tool for tool in (f"mkfs.{file_system}", "fio") if shutil.which(tool) is None]
    if absent:
        pytest.skip(f"{' and '.join(absent)} missing: {file_system} was not tried")
    if shutil.which("modprobe"):
        subprocess.run(["modprobe", "-q", file_system], check=False)
    if f"\t{file_system}\n" not in Path("/proc/filesystems").read_text():
        pytest.skip(f"this kernel has no {file_system}: it was not tried")


@pytest.fixture
def image(tmp_path):
    file = tmp_path / "image"
    file.touch()
    os.truncate(file, SIZE)
    return file


@pytest.fixture
def device(image):
    with loop_device(image, LocalTarget()) as name:
        yield name
    await_detached(image)


def await_detached(image):
    wait_until(lambda: not losetup(image), lambda: losetup(image))


def losetup(image):
    words = ["losetup", "--associated", str(image)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def can_be_had(chromosome, image):
    """Return whether mkfs makes it, and the kernel mounts it."""
    os.truncate(image, 0)
    os.truncate(image, SIZE)
    kind = str(chromosome["file_system"])
    make = [f"mkfs.{kind}", *FORCE[kind[:3]], *make_words(chromosome), str(image)]
    if subprocess.run(make, capture_output=True, check=False).returncode != 0:
        return False
    options = f"loop,{','.join(mount_words(chromosome))}"
    mount = ["unshare", "-m", "mount", "-t", kind, "-o", options, str(image), "/tmp"]
    return subprocess.run(mount, capture_output=True, check=False).returncode == 0


@pytest.mark.thorough
@EACH_FILE_SYSTEM
def test_allowed_file_systems_can_be_made_and_mounted(file_system, image):
    need(file_system)
    all_of_it = [one for one in configurations(RULES) if one["file_system"] == file_system]
    for chromosome in random.Random(1).sample(all_of_it, 8):
        assert can_be_had(chromosome, image), chromosome


def void(chromosome, gene):
    """Return whether no word of a command line says what the gene's allele is."""
    file_system, allele = chromosome["file_system"], chromosome[gene]
    if gene in ("inode_size", "blocks_per_group"):
        return file_system == "btrfs"
    # ext3 without a word for its journal is ext3 in its default mode: nothing new, so no allele.
    return (file_system, gene, allele) == ("ext3", "journal", "none")


@pytest.mark.thorough
@EACH_FILE_SYSTEM
def test_forbidden_file_systems_are_refused(file_system, image):
    need(file_system)
    rng = random.Random(2)
    genes = [gene for gene in storage_space(RULES).genes if gene.name != "file_system"]
    default = next(one for one in defaults(RULES) if one["file_system"] == file_system)
    page = os.sysconf("SC_PAGE_SIZE")
    forbidden = [
        {**default, gene.name: allele}
        for gene in genes
        for allele in gene.alleles
        if not is_valid({**default, gene.name: allele}, RULES)
        and not void({**default, gene.name: allele}, gene.name)
        # From 6.12 on the kernel mounts these, where it has huge pages.
        and not (file_system == "xfs" and gene.name == "block_size" and allele > page)
    ]
    for other in rng.sample(forbidden, min(12, len(forbidden))):
        assert not can_be_had(other, image), other


@EACH_FILE_SYSTEM
def test_a_trial_measures_and_leaves_the_device_blank(file_system, device, image):
    need(file_system)
    default = next(one for one in defaults(RULES) if one["file_system"] == file_system)
    bench = StorageBench(LocalTarget(), device, JOB, seconds=1.0)
    wanted = FileSystem(file_system, make_words(default), mount_words(default), "none")
    before = scheduler(device)
    for _ in range(2 if file_system == "ext4" else 1):  # the second finds it as the first did
        measured = bench.run(wanted)
        assert (measured.status, measured.note) == ("ok", "")
        assert measured.operations * 16384 == measured.transferred_bytes > 0
        assert measured.seconds >= 1
        assert measured.latency_ns > 0
    assert scheduler(device) == before
    assert image.read_bytes()[: 1 << 20].strip(b"\0") == b""


def scheduler(device):
    return Path("/sys/class/block", Path(device).name, "queue/scheduler").read_text()


@pytest.mark.thorough
def test_refusals_of_mkfs_and_mount_are_invalid(device):
    bench = StorageBench(LocalTarget(), device, JOB, seconds=0.3)
    no_size = bench.run(FileSystem("ext4", ("-b", "1000")))
    assert no_size.status == "invalid" and "mkfs.ext4" in no_size.note
    no_option = bench.run(FileSystem("ext4", mount=("notail",)))
    assert no_option.status == "invalid" and "mount -t ext4 -o notail" in no_option.note


@pytest.mark.thorough
def test_a_device_in_use_is_refused_even_where_it_may_be_overwritten(device, tmp_path):
    place = tmp_path / "mounted"
    place.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-F", device], check=True)
    bench = StorageBench(LocalTarget(), device, JOB, overwrite=True)
    subprocess.run(["mount", device, place], check=True)
    try:
        (place / "precious").write_text("kept")
        with pytest.raises(StorageError, match="in use"):
            bench.run(FileSystem("ext4"))
        assert (place / "precious").read_text() == "kept"
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.thorough
def test_a_device_mounted_in_another_namespace_only_is_refused(device):
    subprocess.run(["mkfs.ext4", "-q", "-F", device], check=True)
    script = 'mount "$1" /tmp && echo mounted && read -r end'
    words = ["unshare", "-m", "sh", "-c", script, "sh", device]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"mounted\n"
        with pytest.raises(StorageError, match="in use"):
            StorageBench(LocalTarget(), device, JOB, overwrite=True).run(FileSystem("ext4"))
        other.communicate(b"end\n")


@pytest.mark.thorough
def test_a_device_that_is_not_blank_is_refused_unless_it_may_be_overwritten(device):
    subprocess.run(["mkfs.ext4", "-q", "-F", device], check=True)
    with pytest.raises(StorageError, match="not blank") as refused:
        StorageBench(LocalTarget(), device, JOB).run(FileSystem("ext4"))
    assert "overwritten" in refused.value.remedy
    bench = StorageBench(LocalTarget(), device, JOB, seconds=1.0, overwrite=True)
    assert bench.run(FileSystem("ext4")).status == "ok"


@pytest.mark.thorough
def test_a_file_is_not_a_device(image):
    with pytest.raises(StorageError, match="is not a block device"):
        StorageBench(LocalTarget(), str(image), JOB, overwrite=True).run(FileSystem("ext4"))


# Larger than the disk: laid out before the run, or created by it.
TOO_LARGE = {
    "laid out": "filesize=64m",
    "in the run": "filesize=64m\nfsync=0\nrw=write\ncreate_on_open=1",
}


@pytest.mark.thorough
@pytest.mark.parametrize("larger", TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_full_disk_is_a_failure_that_leaves_nothing(larger, image):
    os.truncate(image, 8 << 20)
    with loop_device(image, LocalTarget()) as device:
        bench = StorageBench(LocalTarget(), device, f"{JOB}{larger}\n", seconds=3.0)
        measured = bench.run(FileSystem("ext4"))
        assert measured.status == "failed"
        assert "ENOSPC" in measured.note or "No space left" in measured.note
        assert f" {device} " not in all_mounts()
    await_detached(image)
    assert image.read_bytes()[: 1 << 20].strip(b"\0") == b""


CAMPAIGN = """
import sys
from pathlib import Path
from foreread.boards.target import LocalTarget
from studies.tuning.storage_trial import FileSystem, StorageBench, loop_device
with loop_device(Path(sys.argv[1]), LocalTarget()) as device:
    bench = StorageBench(LocalTarget(), device, Path(sys.argv[2]).read_text(), seconds=1)
    while True:
        print(device, flush=True)
        bench.run(FileSystem("ext4", scheduler="none"))
"""


CAMPAIGN_ON = """
import sys
from pathlib import Path
from foreread.boards.target import LocalTarget
from studies.tuning.storage_trial import FileSystem, StorageBench
bench = StorageBench(LocalTarget(), sys.argv[1], Path(sys.argv[2]).read_text(), seconds=1)
while True:
    bench.run(FileSystem("ext4", scheduler="none"))
"""
HOLDER = """
import sys
from foreread.tracer.local.journal import Journal
with Journal(wait_s=float(sys.argv[1])):
    print("held", flush=True)
    input()
"""


@contextmanager
def killed(script, device, folder):
    """Yield a process that tries file systems on the device, and that the test ends."""
    job = folder / "job"
    job.write_text(JOB)
    words = [sys.executable, "-c", script, device, str(job)]
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.DEVNULL) as one:
        yield one


def stopped(device):
    """Return the fio of the trial that has the device mounted, stopped: the trial stays there."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            is_fio = (folder / "comm").read_text() == "fio\n"
            if is_fio and f" {device} " in (folder / "mountinfo").read_text():
                os.kill(int(folder.name), signal.SIGSTOP)
                return int(folder.name)
    return None


@contextmanager
def campaign(image, folder):
    """Yield a campaign in a process of its own, its device, and the fio of a stopped trial."""
    job = folder / "job"
    job.write_text(JOB)
    words = [sys.executable, "-c", CAMPAIGN, str(image), str(job)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
        assert one.stdout is not None
        device = one.stdout.readline().decode().strip()
        yield one, device, wait_until(lambda: stopped(device))


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_remains_however_a_campaign_ends(number, image, tmp_path):
    with campaign(image, tmp_path) as (one, device, fio):
        one.send_signal(number)
        os.kill(fio, signal.SIGCONT)
        one.communicate()
    assert one.returncode != 0
    # A killed one's last trial goes on to its end, which undoes it.
    wait_until(lambda: f" {device} " not in all_mounts())
    await_detached(image)
    assert image.read_bytes()[: 1 << 20].strip(b"\0") == b""


@pytest.mark.thorough
@pytest.mark.parametrize("with_guard", [False, True])
def test_the_scheduler_of_a_campaign_that_was_killed_comes_back(image, tmp_path, with_guard):
    with loop_device(image, LocalTarget()) as device:
        queue = Path("/sys/block", Path(device).name, "queue/scheduler")
        if "mq-deadline" not in queue.read_text():
            pytest.skip("this kernel has no mq-deadline: no scheduler was restored")
        queue.write_text("mq-deadline")
        with killed(CAMPAIGN_ON, device, tmp_path) as one:
            fio = wait_until(lambda: stopped(device))
            assert "[none]" in queue.read_text()
            guards = guards_of(one.pid)
            assert guards
            if with_guard:
                for guard in guards:
                    os.kill(guard, signal.SIGKILL)
            one.kill()
            os.kill(fio, signal.SIGCONT)
            one.communicate()
        wait_until(lambda: f" {device} " not in all_mounts())
        if with_guard:
            restored = {one.knob: one.problem for one in restore_leftovers()}
            assert restored.get(str(queue), "") == ""  # or another foreread has put it back
        wait_until(lambda: "[mq-deadline]" in queue.read_text())


@pytest.mark.thorough
def test_a_trial_waits_for_another_foreread_that_holds_the_settings(device, monkeypatch):
    monkeypatch.setattr(storage_trial, "_LOCK_WAIT_S", 0.0)
    bench = StorageBench(LocalTarget(), device, JOB)
    words = [sys.executable, "-c", HOLDER, str(left_s())]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        with pytest.raises(RecordError, match="another foreread"):
            bench.run(FileSystem("ext4"))
        other.communicate(b"end\n")


@pytest.mark.thorough
def test_a_trial_that_is_killed_itself_leaves_neither_mount_nor_loop_device(image, tmp_path):
    with campaign(image, tmp_path) as (one, device, fio):
        for trial in shells_with(device):  # also those that it runs commands in
            with suppress(ProcessLookupError):  # a shell for one command has ended meanwhile
                os.kill(trial, signal.SIGKILL)
        os.kill(fio, signal.SIGCONT)
        _, said = one.communicate()
    # Its remains are still there when the campaign goes on, and are not touched.
    assert one.returncode == 1 and b"StorageError" in said
    assert b"in use" in said or b"not blank" in said
    wait_until(lambda: f" {device} " not in all_mounts())
    await_detached(image)


def shells_with(word):
    """Return the shells that have a word on their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text(errors="replace").split("\0")
        except OSError:
            continue  # it has ended
        if words[:2] == ["sh", "-c"] and word in words:
            found.append(int(folder.name))
    return found


def all_mounts():
    words = ["sh", "-c", "cat /proc/[0-9]*/mountinfo"]
    found = subprocess.run(words, capture_output=True, check=False)  # processes come and go
    return found.stdout.decode(errors="replace")
