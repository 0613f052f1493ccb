"""Workloads by fio: the job, what its report may say, and a real run on a small file."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boards.target import LocalTarget
from tracer import workload as module
from tracer.backends.base import RecordError
from tracer.calibrate.fio import CalibrateError
from tracer.workload import Ground, Workload, give, job_text, lay_out, parse, run, take, words

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


@pytest.mark.skipif(shutil.which("fio") is None, reason="without fio no workload was run")
def test_a_run_on_a_target(tmp_path):
    ground = Ground(str(tmp_path / "data"), 16 << 20, str(tmp_path))
    lay_out(LocalTarget(), ground)
    done = run(LocalTarget(), ground, READS, 0.2)
    assert done.transferred_bytes == done.requests * 16 << 10 > 0
    assert done.seconds > 0.1


def test_what_is_no_knob_is_not_written(tmp_path):
    with pytest.raises(RecordError, match="not a knob"):
        run(LocalTarget(), GROUND, READS, 1.0, [(str(tmp_path / "file"), "1")])


@pytest.mark.skipif(shutil.which("fio") is None, reason="the script asks for fio first")
def test_a_setting_that_is_refused():
    with pytest.raises(CalibrateError, match="cannot be read"):
        run(LocalTarget(), GROUND, READS, 1.0, [("/proc/sys/vm/no_such_knob", "1")])


def script(folder, fio, *words):
    """Run the script with a program in fio's place, in a folder of knobs."""
    (folder / "bin").mkdir()
    (folder / "bin/fio").write_text(f"#!/bin/sh\n{fio}\n")
    (folder / "bin/fio").chmod(0o755)
    (folder / "scheduler").write_text("none [mq-deadline] bfq\n")
    (folder / "window").write_text("128\n")
    text = module._SCRIPT.read_text()
    done = subprocess.run(
        ["sh", "-c", text, "sh", "9", *words],
        cwd=folder,
        env={"PATH": f"{folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        input="[job]\n",
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def test_settings_are_in_force_during_the_run_and_then_put_back(tmp_path):
    words = ("./scheduler", "bfq", "window", "64", "./scheduler", "none")
    said = script(tmp_path, "cat scheduler window -", *words)
    assert said == "measured\nnone\n64\n[job]\n"
    # The kernel would take this for the name of the scheduler that was in force.
    assert (tmp_path / "scheduler").read_text() == "mq-deadline\n"
    assert (tmp_path / "window").read_text() == "128\n"


def test_a_knob_that_refuses_puts_back_those_before_it(tmp_path):
    (tmp_path / "folder").mkdir()
    said = script(tmp_path, "true", "window", "64", "folder", "1")
    assert said.startswith("refused folder cannot be read")
    assert (tmp_path / "window").read_text() == "128\n"


@pytest.mark.parametrize(
    ("fio", "said"),
    [("echo no such file; exit 1", "failed fio: no such file"), ("kill -9 $$", "failed fio: ")],
)
def test_a_run_that_fails_puts_knobs_back(tmp_path, fio, said):
    assert script(tmp_path, fio, "window", "64").startswith(said)
    assert (tmp_path / "window").read_text() == "128\n"
