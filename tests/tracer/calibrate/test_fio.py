"""fio on a target: its arguments, the meaning of its answers, and invalid ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import left_s

from foreread.boards.target import LocalTarget, Result
from foreread.tracer.calibrate import run
from foreread.tracer.calibrate.fio import CalibrateError, Job, Place, find_place, measure, parse
from foreread.tracer.calibrate.run import jobs

JOB = Job(4, sequential=False, depth=1, seconds=1.0)
GOOD = b'report {"jobs": [{"error": 0, "jobname": "x"}]}\n'
SCRIPT = (Path(run.__file__).with_name("place.sh")).read_text()
PLACE = Place("/dev/disk", 1 << 30, "disk", "6.1", "fio-3.33")


class Answering:
    """A target that answers as configured, and notes what it was asked."""

    def __init__(self, status=0, stdout=b"", stderr=b""):
        self.result = Result(status, stdout, stderr)
        self.asked = []

    def run(self, command, stdin=b"", timeout_s=None, stdout=None):
        self.asked.append(list(command))
        return self.result


def test_each_request_has_its_time():
    """fio logs what it reaps, not always in order; what it reaps at the end was not in time."""
    seen = parse(JOB, GOOD + b"2, 150000, 0, 4096, 0\n1, 90000, 0, 4096, 0\n1700, 5, 0, 4096, 0\n")
    assert seen.done_ns.tolist() == [1e6, 2e6]
    assert seen.latency_ns.tolist() == [90000, 150000]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        GOOD,
        b'report {"jobs": []}\n1, 2, 0, 4096, 0\n',
        b'report {"jobs": [{"error": 5}]}\n1, 2, 0, 4096, 0\n',
        b"report {\n1, 2, 0, 4096, 0\n",
        GOOD + b"1, boo, 0, 4096, 0\n",
        GOOD + b"1, -2, 0, 4096, 0\n",
        GOOD + b"1, nan, 0, 4096, 0\n",
        GOOD + b"1\n",
        GOOD + b"\xff\xfe",
    ],
)
def test_invalid_answers_are_refused(answer):
    with pytest.raises(CalibrateError, match="output of fio"):
        parse(JOB, answer)


@given(st.binary(max_size=80))
def test_any_bytes_are_an_answer_or_refused(data):
    for answer in (data, GOOD + data):
        try:
            assert len(parse(JOB, answer).done_ns) > 0
        except CalibrateError as error:
            assert error.remedy


def test_fio_only_reads_and_past_the_cache():
    target = Answering(stdout=GOOD + b"1, 2, 0, 4096, 0\n")
    measure(target, Place("/mnt/a:b c", 1 << 30, "", "6.1", "fio-3.33"), JOB)
    words = target.asked[0]
    assert {"--readonly", "--direct=1", "--allow_file_create=0", "--rw=randread"} <= set(words)
    assert "--filename=/mnt/a\\:b c" in words
    measure(target, PLACE, Job(64, sequential=True, depth=16, seconds=1.0), start=0.25)
    assert {"--rw=read", "--offset=256m", "--iodepth=16"} <= set(target.asked[1])


def test_a_failing_fio_reports_the_reason():
    target = Answering(1, b"", b"fio: pid=0, err=1\nfile:filesetup.c: Operation not permitted\n")
    with pytest.raises(CalibrateError, match="Operation not permitted") as caught:
        measure(target, PLACE, JOB)
    assert "root" in caught.value.remedy


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"", "fio is not installed"),
        (b"fio \nkernel 6.1\nbytes 99\npath /dev/sda\n", "fio is not installed"),
        (b"fio fio-3.33\nkernel 6.1\npath \n", "not a disk"),
        (b"fio fio-3.33\nkernel 6.1\nbytes x\npath /dev/sda\n", "not a disk"),
        (b"fio fio-3.33\nkernel 6.1\nbytes 99\npath /dev/sda\n", "too few"),
    ],
)
def test_a_target_without_what_is_needed_is_refused(answer, message):
    with pytest.raises(CalibrateError, match=message) as caught:
        find_place(Answering(stdout=answer), "/dev/sda")
    assert caught.value.remedy


@pytest.fixture
def fio_here(tmp_path, monkeypatch):
    """A fio that only knows its version, since finding a place asks for no more."""
    fio = tmp_path / "bin/fio"
    fio.parent.mkdir()
    fio.write_text("#!/bin/sh\necho fio-3.99\n")
    fio.chmod(0o755)
    monkeypatch.setenv("PATH", str(fio.parent), prepend=":")


def test_a_directory_means_its_largest_file(fio_here, tmp_path):
    """Where the disk can be opened it is taken instead, which is not a file."""
    folder = tmp_path / "a b"
    folder.mkdir()
    for name, mib in (("small", 17), ("large", 20)):
        with (folder / name).open("wb") as file:
            file.truncate(mib << 20)
    (folder / "tiny").write_bytes(b"x")
    target = LocalTarget()
    found = find_place(target, str(folder / "small"))
    assert (found.path, found.size) == (str(folder / "small"), 17 << 20)
    assert found.fio == "fio-3.99"
    found = find_place(target, str(folder))
    assert found.path == str(folder / "large") or found.path.startswith("/dev/")
    with pytest.raises(CalibrateError, match="too few"):
        find_place(target, str(folder / "tiny"))
    with pytest.raises(CalibrateError, match="not a disk"):
        find_place(target, str(folder / "none"))


def test_a_relative_path_is_that_of_the_caller(fio_here, tmp_path, monkeypatch):
    with (tmp_path / "data").open("wb") as file:
        file.truncate(17 << 20)
    monkeypatch.chdir(tmp_path)
    assert find_place(LocalTarget(), "data").path == str(tmp_path / "data")


def test_all_jobs_fit_into_a_minute():
    """With a second for each to start and to end."""
    assert sum(job.seconds + 1.0 for job in jobs()) < 60
    assert len(set(jobs())) == len(jobs())


@pytest.mark.parametrize(
    ("largest_kib", "sizes"),
    [
        (1280, {4, 16, 64, 256, 1024}),
        (512, {4, 16, 64, 256, 512}),
        (127, {4, 16, 64, 124}),  # the default of a block driver: 255 sectors
        (2, {4}),
    ],
)
def test_no_job_has_reads_that_the_kernel_splits(largest_kib, sizes):
    assert {job.kib for job in jobs(largest_kib)} == sizes


def test_the_largest_request_is_that_of_the_disk(fio_here):
    """Of each disk and partition of this machine but loop devices, whose images come and go."""
    seen = 0
    for queue in Path("/sys/class/block").glob("*/queue/max_sectors_kb"):
        disk = queue.parents[1]
        if disk.name.startswith("loop"):
            continue
        for name in (disk.name, *(part.parent.name for part in disk.glob("*/partition"))):
            if Path("/dev", name).is_block_device():
                done = LocalTarget().run(
                    ["sh", "-c", SCRIPT, "sh", f"/dev/{name}"], timeout_s=left_s()
                )
                assert f"largest {queue.read_text()}" in done.stdout.decode()
                seen += 1
    if not seen:
        pytest.skip("this machine has no disk: its largest request was not looked up")


def test_a_disk_of_small_requests_is_measured_with_small_ones():
    answer = b"fio fio-3.33\nkernel 6.1\nbytes 99999999\nlargest 127\npath /dev/sda\n"
    assert find_place(Answering(stdout=answer), "/dev/sda").largest_kib == 127
