"""Plans in force while their fingerprint stays, on a loop device, by busybox ash and dash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from shells import BUSYBOX, each_shell
from tuned_stores import spec_of
from waiting import left_s, wait_until
from watched_disks import WINDOW_KB, a_disk, applying, load, plans, until

from foreread.analyzer.tuner.evaluation import Attempt
from foreread.analyzer.tuner.space.genes import Gene, Space
from foreread.analyzer.tuner.store.records import Evaluation
from foreread.analyzer.tuner.store.store import Store
from foreread.boards.target import LocalTarget
from foreread.tracer.remote.job import Fact
from foreread.tracer.remote.watch import resident_script, watching

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no workload was watched"),
]


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    with a_disk(tmp_path_factory.mktemp("fingerprint")) as disk:
        yield disk


@pytest.fixture
def shell():
    return BUSYBOX


@pytest.fixture(params=each_shell())
def any_shell(request):
    return request.param


def until_period_of(watch, fingerprint):
    """Return once a period with that fingerprint has passed."""
    wait_until(lambda: any(fingerprint in fact.value for fact in until(watch, "period")))


@pytest.mark.thorough
def test_a_plan_is_in_force_while_its_fingerprint_stays(loop, any_shell):
    # Of the other workload, too: what is less than nothing never undoes a plan.
    options = applying(loop, plans(loop, read_random_small=16, write_random_large=32), patience=2)
    with watching(LocalTarget(), options, any_shell) as watch:
        with load(loop, "randread", "4k"):
            said = until(watch, "applied")
            assert Fact("applied", "read-random-small") in said
            wait_until(lambda: loop.window_kb() == 16)
            periods = [fact for fact in said if fact.value.startswith("read-random-small")]
            assert len([fact for fact in periods if fact.key == "period"]) >= 2
        with load(loop, "randread", "64k"):
            for _ in range(4):  # twice the patience
                until_period_of(watch, "read-random-large")
            assert loop.window_kb() == 16
        with load(loop, "randwrite", "64k"):
            until(watch, "applied")
            wait_until(lambda: loop.window_kb() == 32)
        with load(loop, "read", "128k"):
            assert Fact("defaults", "read-sequential-large") in until(watch, "defaults")
            assert loop.window_kb() == WINDOW_KB
        with load(loop, "randread", "4k"):
            until(watch, "applied")
            restored = [fact for fact in watch.stop() if fact.key == "restored"]
    assert [fact.value.split("\t") for fact in restored] == [[str(loop.knob), str(WINDOW_KB), ""]]
    wait_until(lambda: loop.window_kb() == WINDOW_KB)


@pytest.mark.thorough
def test_a_scheduler_comes_back(loop, shell):
    knob = Path(f"/sys/block/{loop.name}/queue/scheduler")
    before = knob.read_text()
    other = next(name for name in before.split() if "[" not in name)
    options = applying(loop, {"read-random-small": [(str(knob), other)]}, patience=1)
    with watching(LocalTarget(), options, shell) as watch, load(loop, "randread", "4k"):
        until(watch, "applied")
        wait_until(lambda: f"[{other}]" in knob.read_text())
        restored = [fact.value for fact in watch.stop() if fact.key == "restored"]
    assert knob.read_text() == before
    assert restored
    assert all(fact.endswith("\t") for fact in restored)


# It would have to do so many times as much, whatever else this machine does at times.
NEVER_ENOUGH = -(10**8)


@pytest.mark.thorough
def test_a_plan_that_lowers_throughput_is_undone_for_good(loop, shell):
    options = applying(loop, plans(loop, read_random_small=16), 2, NEVER_ENOUGH)
    with watching(LocalTarget(), options, shell) as watch, load(loop, "randread", "4k"):
        said = until(watch, "undone")
        assert Fact("applied", "read-random-small") in said
        wait_until(lambda: loop.window_kb() == WINDOW_KB)
        said = [fact for _ in range(3) for fact in until(watch, "period")]
        assert not any(fact.key == "applied" for fact in said)


# A process that reads 4 GiB, and ends on request, of a parent that never waits for it.
UNWAITED = """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    buffer = bytearray(1 << 20)
    with open("/dev/zero", "rb", buffering=0) as zero:
        for _ in range(4096):
            zero.readinto(buffer)
    print("read", flush=True)
    input()
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    print("gone", flush=True)
"""


@contextmanager
def unwaited():
    """Yield how to end a process with which what it has read is gone from /proc."""
    words = [sys.executable, "-c", UNWAITED]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"read\n"

        def end():
            process.stdin.write(b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"gone\n"

        yield end
        process.stdin.close()


@pytest.mark.thorough
def test_a_plan_is_judged_though_a_process_took_its_bytes_with_it(loop, shell):
    options = applying(loop, plans(loop, read_random_small=16), 3, NEVER_ENOUGH)
    with (
        unwaited() as end,
        watching(LocalTarget(), options, shell) as watch,
        load(loop, "randread", "4k"),
    ):
        until_period_of(watch, "read-random-small")
        end()
        until(watch, "undone")
        wait_until(lambda: loop.window_kb() == WINDOW_KB)


@pytest.mark.thorough
def test_a_process_that_takes_its_bytes_with_it_undoes_no_plan(loop, shell):
    # What is less than nothing never does.
    options = applying(loop, plans(loop, read_random_small=16), patience=2)
    with (
        unwaited() as end,
        watching(LocalTarget(), options, shell) as watch,
        load(loop, "randread", "4k"),
    ):
        until(watch, "applied")
        end()
        said = [fact for _ in range(5) for fact in until(watch, "period")]
        said += watch.stop()
    assert not [fact for fact in said if fact.key == "undone"]


@pytest.mark.thorough
def test_a_lost_host_leaves_nothing(loop, shell, monkeypatch):
    options = applying(loop, plans(loop, read_random_small=16), patience=1)
    with load(loop, "randread", "4k"):
        with watching(LocalTarget(), options, shell) as watch:
            until(watch, "applied")
            wait_until(lambda: loop.window_kb() == 16)
            monkeypatch.setattr("foreread.tracer.remote.job.SILENT_S", 1)
            watch.news()  # with a short lease
            monkeypatch.setattr("foreread.tracer.remote.job.Job.finish", lambda _: None)
        wait_until(lambda: loop.window_kb() == WINDOW_KB)


@pytest.fixture
def resident(loop, shell, tmp_path):
    """Yield how to call a resident watcher's script, and end it."""
    script = tmp_path / "foreread-fingerprint"
    options = applying(loop, plans(loop, read_random_small=16), patience=2)
    text = resident_script(options)
    job = f"/run/foreread-{tmp_path.name}-{os.getpid()}"
    script.write_text(text.replace("/run/foreread-resident", job))

    def call(verb, check=True):
        words = [*shell, str(script), verb]
        return subprocess.run(words, check=check, capture_output=True, text=True).stdout

    call.job = Path(job)
    yield call
    call("stop", check=False)


def test_a_resident_watcher_needs_no_host(loop, resident):
    with load(loop, "randread", "4k"):
        resident("start")
        assert "a watcher is running already" in resident("start", check=False)
        wait_until(lambda: loop.window_kb() == 16)
        assert "applied read-random-small" in resident("status")
        resident("stop")
    wait_until(lambda: loop.window_kb() == WINDOW_KB)
    assert "no watcher is running" in resident("status", check=False)


@pytest.mark.thorough
def test_changes_of_a_killed_resident_are_restored_by_the_next_one(loop, resident):
    with load(loop, "randread", "4k"):
        resident("start")
        wait_until(lambda: loop.window_kb() == 16)
        os.kill(int((resident.job / "owner").read_text().split()[0]), signal.SIGKILL)
    resident("start")
    wait_until(lambda: loop.window_kb() == WINDOW_KB)


@pytest.fixture
def tuning(loop, tmp_path):
    """A TUNING file whose best is a window of 16 KiB."""
    window = Gene(
        name="window", kind="integer", choices=(16, WINDOW_KB), default=WINDOW_KB,
        knob="/sys/block/{disk}/queue/read_ahead_kb",
    )  # fmt: skip
    path = tmp_path / "app.tuning"
    spec = spec_of(scenarios=("idle",), recipe="random", space=Space((window,)))
    with Store.create(path, spec) as store:
        for number, kb in enumerate((WINDOW_KB, 16) * 5, 1):
            attempt = Attempt("ok", 1.0 if kb == 16 else 2.0)
            store.add(Evaluation(number, {"window": kb}, "idle", number // 2, 1, attempt, 0, 1))
    return path


@contextmanager
def started(command):
    """Yield a process that is ended at the end: one that lived on would hold the settings."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=left_s())


@pytest.mark.thorough
def test_learnt_settings_are_applied_until_ctrl_c(loop, tuning):
    command = [sys.executable, "-m", "foreread", "fingerprint", "--interval", "2"]
    command += ["--device", loop.name]
    with load(loop, "read", "128k"):
        learnt = subprocess.run(
            [*command, "--learn", tuning], check=True, capture_output=True, timeout=left_s()
        )
        assert b"read-sequential-large has window 16" in learnt.stdout
        more = ["--watch", "--patience", "1", "--apply", tuning, "--wait", str(left_s())]
        with started([*command, *more]) as watch:
            wait_until(lambda: loop.window_kb() == 16)
            watch.send_signal(signal.SIGINT)
            received, _ = watch.communicate(timeout=left_s())
    assert watch.returncode == 0
    wait_until(lambda: loop.window_kb() == WINDOW_KB)
    assert "applied the settings for read-sequential-large" in received
    assert f"restored: {loop.knob} {WINDOW_KB}" in received
