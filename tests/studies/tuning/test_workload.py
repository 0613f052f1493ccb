"""Workloads by fio: the job, and what a target may say of a run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.boards.target import LocalTarget, Result
from foreread.tracer.calibrate.fio import CalibrateError
from foreread.tracer.error import RecordError
from studies.tuning.workload import Ground, Workload, job_text, parse, run, run_watched

GROUND = Ground("/mnt/data", 64 << 20)
READS = Workload(processes=2, read_share=100, random_share=0, request_kib=16)


def report(**job):
    part = {"total_ios": 10, "io_bytes": 40960, "runtime": 2000, "lat_ns": {"mean": 1e6, "N": 10}}
    none = {"total_ios": 0}
    return json.dumps({"jobs": [{"error": 0, "read": part, "write": none, "sync": none, **job}]})


def test_a_report():
    done = parse(report().encode())
    assert (done.transferred_bytes, done.seconds, done.requests) == (40960, 2.0, 10)
    assert done.latency_s == pytest.approx(1e-3)
    assert done.bytes_per_second == 20480


def test_warnings_stand_before_a_report():
    assert parse(b"fio: a warning\n" + report().encode()).requests == 10


def test_making_data_safe_is_part_of_the_latency():
    sync = {"total_ios": 0, "lat_ns": {"mean": 5e6, "N": 2}}
    assert parse(report(sync=sync).encode()).latency_s == pytest.approx(2e-3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"jobs": []}',
        report(error=5),
        report(read={"total_ios": 0}),
        report(read={"total_ios": 1, "runtime": 1, "lat_ns": {"mean": -1, "N": 1}}),
        report(read={"total_ios": -1, "runtime": 1}),
        "[" * 100_000,
    ],
)
def test_no_report(text):
    with pytest.raises(CalibrateError):
        parse(text.encode())


@given(st.binary(max_size=200))
def test_anything_may_be_reported(data):
    with pytest.raises(CalibrateError):
        parse(data)


@pytest.mark.parametrize(
    ("ground", "workload"),
    [
        (Ground("data", 64 << 20), READS),
        (Ground("/mnt/a\nexec=reboot", 64 << 20), READS),
        (Ground("/mnt/data", 4 << 20), Workload(8, 50, 50, 16)),
        (Ground("/mnt/data", 8 << 20), Workload(8, 50, 50, 2047)),
    ],
)
def test_no_job(ground, workload):
    with pytest.raises(CalibrateError):
        job_text(ground, workload, 1.0)


def test_each_process_has_a_part_of_the_file():
    text = job_text(GROUND, Workload(8, 50, 50, 0), 1.5)
    assert "size=8388608\noffset_increment=8388608\nnumjobs=8\n" in text
    assert "bs=1k\n" in text
    assert "runtime=1500ms" in text
    assert "filename=/a\\:b" in job_text(Ground("/a:b", 64 << 20), READS, 1.0)


def test_paths_that_are_not_knobs_are_not_written(tmp_path):
    with pytest.raises(RecordError, match="not a knob"):
        run(LocalTarget(), GROUND, READS, 1.0, [(str(tmp_path / "file"), "1")])


class Answering(LocalTarget):
    """A target whose shell says something, whatever it is asked."""

    def __init__(self, answer):
        self.answer = answer

    def run(self, argv, stdin=None, timeout_s=None):
        return Result(0, self.answer, b"")


def test_a_knob_that_stayed_otherwise_fails_the_run():
    received = b"restored /sys/a\t1\tit stayed at 2\nmeasured\n" + report().encode()
    with pytest.raises(CalibrateError, match="/sys/a was not restored: it stayed at 2"):
        run(Answering(received), GROUND, READS, 1.0)


@given(st.binary(max_size=200))
def test_anything_may_be_answered(answer):
    with pytest.raises((CalibrateError, RecordError)) as error:
        run_watched(Answering(answer), GROUND, READS, 1.0, (), "sda")
    assert error.value.remedy


@given(st.binary(max_size=200))
def test_a_disk_may_count_anything(answer):
    received = answer + b"\nmeasured\n" + report().encode()
    with pytest.raises((CalibrateError, RecordError)) as error:
        run_watched(Answering(received), GROUND, READS, 1.0, (), "sda")
    assert error.value.remedy
