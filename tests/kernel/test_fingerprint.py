"""Fingerprints of real loads on a loop device, by busybox ash and dash; plans put in force."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tuned_stores import spec_of

from analyzer.tuner.evaluation import Attempt
from analyzer.tuner.fingerprint import Snapshot
from analyzer.tuner.genes import Gene, Space
from analyzer.tuner.records import Evaluation
from analyzer.tuner.store import Store
from boards.target import LocalTarget
from foreread.cli import main
from tracer.backends.base import RecordError
from tracer.remote.job import Fact
from tracer.remote.watch import WatchOptions, parse_period, resident_script, watching

SHELLS = (("busybox", "sh"), ("dash",))
WINDOW_KB = 84  # set before a test; nothing else on the machine has it
WAIT_S = 300.0  # for another foreread on this machine
FEW_S = 2 * WAIT_S  # what anything here takes at most
LOADS = {
    "read-sequential-small": ("read", "4k"),
    "read-random-small": ("randread", "4k"),
    "read-sequential-large": ("read", "128k"),
    "write-random-small": ("randwrite", "4k"),
    "write-random-large": ("randwrite", "64k"),
    "write-sequential-large": ("write", "64k"),
}

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no workload was watched"),
]


@dataclass(frozen=True)
class Disk:
    """A loop device that nobody else uses, and without a file system: its bios are the load's."""

    name: str

    @property
    def knob(self):
        return Path(f"/sys/block/{self.name}/queue/read_ahead_kb")

    def window_kb(self):
        return int(self.knob.read_text())


@contextmanager
def a_disk(directory):
    image = directory / "disk"
    with image.open("wb") as file:
        file.truncate(512 << 20)
    done = subprocess.run(
        ["losetup", "--find", "--show", image], check=True, capture_output=True, text=True
    )
    disk = Disk(Path(done.stdout.strip()).name)
    try:
        disk.knob.write_text(str(WINDOW_KB))
        yield disk
    finally:
        subprocess.run(["losetup", "--detach", f"/dev/{disk.name}"], check=True)


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    with a_disk(tmp_path_factory.mktemp("fingerprint")) as disk:
        yield disk


@pytest.fixture
def shell():
    return SHELLS[0]


@pytest.fixture(params=SHELLS, ids=lambda words: words[0])
def any_shell(request):
    return request.param


@contextmanager
def load(disk, pattern, size):
    """Keep fio busy, some 50 requests a second past the page cache; never twice around the disk."""
    words = [
        "fio", "--name=load", f"--filename=/dev/{disk.name}", "--direct=1", f"--rw={pattern}",
        f"--bs={size}", "--time_based", "--runtime=600", "--ioengine=psync", "--norandommap",
        "--thinktime=20ms",
    ]  # fmt: skip
    fio = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        yield
    finally:
        fio.terminate()
        fio.communicate()


def until(watch, key):
    """Return what was said up to a fact of that key."""
    said = []
    end = time.monotonic() + FEW_S
    while not any(fact.key == key for fact in said):
        assert time.monotonic() < end, said
        said += watch.news()
    return said


def whole_period(watch):
    """Return the second period with a workload: in the midst of the first one the load began."""
    seen = []
    while len(seen) < 2:
        periods = [parse_period(fact) for fact in until(watch, "period") if fact.key == "period"]
        seen += [period for period in periods if period.fingerprint]
    return seen[1]


def applying(loop, plans, patience, worse_percent=100):
    """Return the options of a watch that applies plans by fingerprint."""
    return WatchOptions(
        period_s=1,
        disks=[loop.name],
        least_ios=5,
        plans=plans,
        patience=patience,
        worse_percent=worse_percent,
        wait_s=WAIT_S,
    )


@pytest.mark.parametrize("expected", LOADS)
def test_a_load_has_its_fingerprint(loop, shell, expected):
    options = WatchOptions(period_s=1, disks=[loop.name], least_ios=5)
    with watching(LocalTarget(), options, shell) as watch, load(loop, *LOADS[expected]):
        period = whole_period(watch)
    assert period.fingerprint == expected
    assert str(Snapshot(**period.sums).fingerprint()) == expected


def test_a_posix_shell_sees_the_same(loop):
    test_a_load_has_its_fingerprint(loop, SHELLS[1], "write-random-large")


def test_a_disk_that_is_not_there(shell):
    options = WatchOptions(period_s=1, disks=["none0"])
    with (
        watching(LocalTarget(), options, shell) as watch,
        pytest.raises(RecordError, match="no disk is called none0"),
    ):
        until(watch, "period")


def test_other_disks_do_not_count(loop, shell, tmp_path):
    options = WatchOptions(period_s=1, disks=[loop.name])
    with (
        a_disk(tmp_path) as other,
        load(other, "randread", "4k"),
        watching(LocalTarget(), options, shell) as watch,
    ):
        said = [fact for _ in range(3) for fact in until(watch, "period")]
    assert {parse_period(fact).fingerprint for fact in said if fact.key == "period"} == {""}


def eventually(get, wanted):
    end = time.monotonic() + FEW_S
    while get() != wanted and time.monotonic() < end:
        time.sleep(0.1)
    return get() == wanted


def plans(loop, **windows):
    return {name.replace("_", "-"): [(str(loop.knob), str(kb))] for name, kb in windows.items()}


def test_a_plan_is_in_force_while_its_fingerprint_stays(loop, any_shell):
    # Of the other workload, too: what is less than nothing never undoes a plan.
    options = applying(loop, plans(loop, read_random_small=16, write_random_large=32), patience=2)
    with watching(LocalTarget(), options, any_shell) as watch:
        with load(loop, "randread", "4k"):
            said = until(watch, "applied")
            assert Fact("applied", "read-random-small") in said
            assert eventually(loop.window_kb, 16)
            periods = [fact for fact in said if fact.value.startswith("read-random-small")]
            assert len([fact for fact in periods if fact.key == "period"]) >= 2
        with load(loop, "randread", "64k"):
            larger = 0
            while larger < 4:  # twice the patience
                larger += "read-random-large" in until(watch, "period")[-1].value
            assert loop.window_kb() == 16
        with load(loop, "randwrite", "64k"):
            until(watch, "applied")
            assert eventually(loop.window_kb, 32)
        with load(loop, "read", "128k"):
            assert Fact("defaults", "read-sequential-large") in until(watch, "defaults")
            assert loop.window_kb() == WINDOW_KB
        with load(loop, "randread", "4k"):
            until(watch, "applied")
            restored = [fact for fact in watch.stop() if fact.key == "restored"]
    assert [fact.value.split("\t") for fact in restored] == [[str(loop.knob), str(WINDOW_KB), ""]]
    assert loop.window_kb() == WINDOW_KB


def test_a_scheduler_comes_back(loop, shell):
    knob = Path(f"/sys/block/{loop.name}/queue/scheduler")
    before = knob.read_text()
    other = next(name for name in before.split() if "[" not in name)
    options = applying(loop, {"read-random-small": [(str(knob), other)]}, patience=1)
    with watching(LocalTarget(), options, shell) as watch, load(loop, "randread", "4k"):
        until(watch, "applied")
        assert eventually(lambda: f"[{other}]" in knob.read_text(), True)
        restored = [fact.value for fact in watch.stop() if fact.key == "restored"]
    assert knob.read_text() == before
    assert restored
    assert all(fact.endswith("\t") for fact in restored)


# It would have to do so many times as much, whatever else this machine does at times.
NEVER_ENOUGH = -(10**8)


def test_a_plan_by_which_less_is_done_is_undone_for_good(loop, shell):
    options = applying(loop, plans(loop, read_random_small=16), 2, NEVER_ENOUGH)
    with watching(LocalTarget(), options, shell) as watch, load(loop, "randread", "4k"):
        said = until(watch, "undone")
        assert Fact("applied", "read-random-small") in said
        assert eventually(loop.window_kb, WINDOW_KB)
        said = [fact for _ in range(3) for fact in until(watch, "period")]
        assert not any(fact.key == "applied" for fact in said)


# A process that reads 4 GiB, and ends when it is told to, of a parent that never waits for it.
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


def test_a_plan_is_judged_though_a_process_took_its_bytes_with_it(loop, shell):
    options = applying(loop, plans(loop, read_random_small=16), 3, NEVER_ENOUGH)
    with (
        unwaited() as end,
        watching(LocalTarget(), options, shell) as watch,
        load(loop, "randread", "4k"),
    ):
        while "read-random-small" not in until(watch, "period")[-1].value:
            pass
        end()
        until(watch, "undone")
        assert eventually(loop.window_kb, WINDOW_KB)


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


def test_a_lost_host_leaves_nothing(loop, shell, monkeypatch):
    monkeypatch.setattr("tracer.remote.job.SILENT_S", 1)
    monkeypatch.setattr("tracer.remote.job.Job.finish", lambda _: None)
    options = applying(loop, plans(loop, read_random_small=16), patience=1)
    with load(loop, "randread", "4k"):
        with watching(LocalTarget(), options, shell) as watch:
            until(watch, "applied")
            assert eventually(loop.window_kb, 16)
        assert eventually(loop.window_kb, WINDOW_KB)


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
        assert "is being watched already" in resident("start", check=False)
        assert eventually(loop.window_kb, 16)
        assert "applied read-random-small" in resident("status")
        resident("stop")
    assert loop.window_kb() == WINDOW_KB
    assert "is not being watched" in resident("status", check=False)


def test_what_a_killed_resident_left_is_put_back_by_the_next_one(loop, resident):
    with load(loop, "randread", "4k"):
        resident("start")
        assert eventually(loop.window_kb, 16)
        os.kill(int((resident.job / "owner").read_text().split()[0]), signal.SIGKILL)
    resident("start")
    assert eventually(loop.window_kb, WINDOW_KB)


def test_the_command_tells_one_period(loop, capsys):
    with load(loop, "read", "128k"):
        words = ["fingerprint", "--interval", "3", "--device", f"/dev/{loop.name}"]
        assert main([*words, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert main(words) == 0
    assert told["fingerprint"] == "read-sequential-large"
    assert told["pattern_published"] == "random"
    assert (told["size_bytes"], told["jump_share"]) == (128 << 10, 0)
    assert told["distance_sectors"] == 256
    assert "read-sequential-large" in capsys.readouterr().out


def test_ctrl_c_ends_the_watch(loop):
    words = [sys.executable, "-m", "foreread", "fingerprint", "--watch", "--interval", "1"]
    watch = subprocess.Popen([*words, "--device", loop.name], stdout=subprocess.PIPE, text=True)
    assert watch.stdout.readline() == "no workload\n"
    watch.send_signal(signal.SIGINT)
    assert watch.wait(FEW_S) == 0


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


def test_what_is_learnt_is_applied_until_ctrl_c(loop, tuning):
    command = [sys.executable, "-m", "foreread", "fingerprint", "--interval", "2"]
    command += ["--device", loop.name]
    with load(loop, "read", "128k"):
        learnt = subprocess.run([*command, "--learn", tuning], check=True, capture_output=True)
        assert b"read-sequential-large has window 16" in learnt.stdout
        more = ["--watch", "--patience", "1", "--apply", tuning, "--wait", str(WAIT_S)]
        watch = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, text=True)
        assert eventually(loop.window_kb, 16)
        watch.send_signal(signal.SIGINT)
        told, _ = watch.communicate(timeout=FEW_S)
    assert watch.returncode == 0
    assert loop.window_kb() == WINDOW_KB
    assert "the settings for read-sequential-large are put in force" in told
    assert f"put back: {loop.knob} {WINDOW_KB}" in told
