"""Workloads by fio: the job, what its report may say, and a real run on a small file."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boards.target import LocalTarget
from tracer.calibrate.fio import CalibrateError
from tracer.workload import Ground, Workload, give, job_text, lay_out, parse, take, words

GROUND = Ground("/mnt/data", 64 << 20, "/run")
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
        (Ground("data", 64 << 20, "/run"), READS),
        (Ground("/mnt/a\nexec=reboot", 64 << 20, "/run"), READS),
        (Ground("/mnt/data", 4 << 20, "/run"), Workload(8, 50, 50, 16)),
        (Ground("/mnt/data", 8 << 20, "/run"), Workload(8, 50, 50, 2047)),
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
    assert "filename=/a\\:b" in job_text(Ground("/a:b", 64 << 20, "/run"), READS, 1.0)


@pytest.mark.skipif(shutil.which("fio") is None, reason="without fio no workload was run")
@pytest.mark.parametrize(
    "workload",
    [READS, Workload(1, 0, 100, 4), Workload(3, 50, 50, 100), Workload(8, 100, 100, 2047)],
    ids=str,
)
def test_fio_does_it(workload, tmp_path):
    target = LocalTarget()
    ground = Ground(str(tmp_path / "data"), 16 << 20, str(tmp_path))
    lay_out(target, ground)
    give(target, ground, workload, 0.2)
    assert subprocess.run(words(ground), check=False).returncode == 0
    done = take(target, ground)
    assert done.transferred_bytes == done.requests * max(workload.request_kib, 1) << 10
    assert done.seconds > 0
    # Each process does one thing after the other, so that latencies add up to its time.
    assert 0 < done.latency_s * done.requests < workload.processes * done.seconds * 1.1
    with pytest.raises(CalibrateError, match="fio told nothing"):
        take(target, ground)
