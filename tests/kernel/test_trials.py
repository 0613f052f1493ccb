"""Trials of a real command on a loop device: settings, loads, and everything put back."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from limited_disks import limiting_group
from loop_image import WINDOW_KB, loop_image
from loop_image import mount_options as options
from series_trials import MEASURED
from shells import each_shell
from waiting import has_text, left_s, wait_until

import foreread
from foreread.analyzer.tuner.engines.fingerprint import Snapshot
from foreread.boards.base.interrupts import Interrupted, orderly_exit
from foreread.boards.target import LocalTarget
from foreread.tracer.error import RecordError
from foreread.tracer.local.journal import Journal, restore_leftovers
from foreread.tracer.machines import bench_on
from foreread.tracer.remote.guarded_run import run_to_end, settings
from foreread.tracer.remote.job import Job
from foreread.tracer.remote.machine import Machine
from foreread.tracer.remote.trials import PARTS, TargetTrials, trials_on
from foreread.tracer.runs.knobs import selected
from foreread.tracer.runs.memory import memory_settings
from foreread.tracer.runs.options import Ending, RunOptions, Streams
from foreread.tracer.trials.trial import Scenario, Trial, TrialOptions, check_run

PAGES = 64  # of the data file
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no trial was made"),
]


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        yield image


@pytest.fixture
def nowhere():
    with open(os.devnull, "wb") as file:  # noqa: PTH123
        yield Streams(stdout=file.fileno(), stderr=file.fileno())


def queue(loop, name):
    return f"/sys/block/{loop.device}/queue/{name}"


def value(loop, name):
    return selected(Path(queue(loop, name)).read_text().rstrip("\n"))


def choose(loop, scheduler):
    """Have a scheduler before the test; skip where the kernel has none but ``none``."""
    try:
        Path(queue(loop, "scheduler")).write_text(scheduler)
    except OSError:
        pytest.skip(f"this kernel has no {scheduler}: its tunables were not tried")


@pytest.fixture
def trials(loop, nowhere):
    """Open a bench for a command, ``cat`` of the data by default."""

    def trials(*words, limit_s=None, **run):
        command = [str(word) for word in (words or (loop.busybox, "cat", loop.data))]
        options = RunOptions(command, streams=nowhere, allow_warm=True, **run)
        limits = {"wait_s": left_s(), "limit_s": left_s() if limit_s is None else limit_s}
        return bench_on(LocalTarget(), TrialOptions(options, devices=(loop.device,), **limits))

    return trials


@pytest.mark.thorough
def test_the_command_starts_with_the_locale_and_the_mask_of_its_caller(
    loop, trials, monkeypatch, tmp_path
):
    seen = tmp_path / "seen"
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    before = os.umask(0o027)
    try:
        script = f"echo $LC_ALL >{seen}; umask >>{seen}; env | grep -c ^foreread_ >>{seen}"
        with trials("sh", "-c", f"{script}; :") as bench:
            bench.run(Trial())
    finally:
        os.umask(before)
    assert seen.read_text().split() == ["C.UTF-8", "0027", "0"]


def test_a_trial_has_its_settings_and_they_are_put_back(loop, trials):
    with trials() as bench:
        outcome = bench.run(Trial(((queue(loop, "read_ahead_kb"), "16"),)))
    assert outcome.status in MEASURED
    assert outcome.seconds > 0
    assert outcome.in_force == {queue(loop, "read_ahead_kb"): "16"}
    assert outcome.counters["disk.read_sectors"] >= PAGES * 8
    assert outcome.counters["vmstat.pgpgin"] > 0
    with Journal(wait_s=left_s()):  # no other foreread changes it now
        assert loop.window_kb() == WINDOW_KB


@pytest.mark.thorough
@pytest.mark.parametrize("shell", each_shell())
def test_the_bios_of_a_trial_make_its_fingerprint(loop, nowhere, shell):
    window = ((queue(loop, "read_ahead_kb"), "16"),)
    run = RunOptions([str(loop.busybox), "cat", str(loop.data)], streams=nowhere, allow_warm=True)
    options = TrialOptions(run, devices=(loop.device,), wait_s=left_s(), bios=True)
    with trials_on(LocalTarget(), options, shell) as bench:
        outcome = bench.run(Trial(window))
    bios = Snapshot.from_metrics(outcome.counters)
    assert outcome.status in MEASURED
    assert bios.sectors >= PAGES * 8 and bios.reads >= PAGES / 4
    found = bios.fingerprint()
    assert (found.type, found.size) == ("read", "large")


def test_a_scheduler_brings_its_tunables_and_the_old_ones_come_back(loop, trials):
    choose(loop, "mq-deadline")
    Path(queue(loop, "iosched/fifo_batch")).write_text("7")
    Path(queue(loop, "nr_requests")).write_text("33")
    depth = own_depth(loop, "11")
    settings = (
        (queue(loop, "scheduler"), "kyber"),
        (queue(loop, "iosched/read_lat_nsec"), "3000000"),
        (queue(loop, "nr_requests"), "64"),
    )
    with trials() as bench:
        outcome = bench.run(Trial(settings))
        if outcome.status == "refused":
            pytest.skip("this kernel has no kyber")
        assert (value(loop, "scheduler"), value(loop, "iosched/fifo_batch")) == ("mq-deadline", "7")
    assert outcome.in_force == dict(settings)
    assert value(loop, "nr_requests") == "33"
    assert own_depth(loop) == depth
    assert not [note for note in outcome.notes if "not restored" in note]


def own_depth(loop, wanted=None):
    """Return mq-deadline's async_depth, which nr_requests resets; None where there is none."""
    depth = Path(queue(loop, "iosched/async_depth"))
    if wanted is not None and depth.exists():
        depth.write_text(wanted)
    return depth.read_text() if depth.exists() else None


@pytest.mark.thorough
def test_requests_take_the_depth_with_them_and_both_come_back(loop, trials):
    choose(loop, "mq-deadline")
    before, depth = value(loop, "nr_requests"), own_depth(loop, "11")
    settings = ((queue(loop, "nr_requests"), "64"),)
    with trials() as bench:
        outcome = bench.run(Trial(settings))
        assert (value(loop, "nr_requests"), own_depth(loop)) == (before, depth)
    assert outcome.in_force == dict(settings)
    killed_after(settings)
    restore_leftovers()
    with Journal(wait_s=left_s()):
        assert (value(loop, "nr_requests"), own_depth(loop)) == (before, depth)


@pytest.mark.thorough
def test_it_ends_on_request_though_the_connection_is_gone(loop, trials, monkeypatch, tmp_path):
    """What is then asked of the target looks as if that had restarted."""
    monkeypatch.setattr(TargetTrials, "_has_restarted", lambda _: True)
    begun = tmp_path / "begun"

    def end():
        wait_until(lambda: has_text(begun))
        os.kill(os.getpid(), signal.SIGTERM)

    ending = threading.Thread(target=end)
    script = f"echo begun >{begun}; exec sleep 1000"
    with pytest.raises(Interrupted), orderly_exit(), trials("sh", "-c", script) as bench:
        ending.start()
        bench.run(Trial())
    ending.join()
    with Journal(wait_s=left_s()):
        assert loop.window_kb() == WINDOW_KB


@pytest.mark.thorough
def test_a_setting_that_a_later_one_changed_is_refused(loop, trials):
    """The kernel gives the window its default with the limit of a request."""
    settings = ((queue(loop, "read_ahead_kb"), "16"), (queue(loop, "max_sectors_kb"), "64"))
    with trials() as bench:
        outcome = bench.run(Trial(settings))
        right = bench.run(Trial(settings[::-1]))
    assert outcome.status == "refused" and outcome.seconds is None
    assert [*outcome.refused] == [queue(loop, "read_ahead_kb")]
    assert any("another setting made it" in note for note in outcome.notes)
    assert right.status in MEASURED and right.in_force == dict(settings)


def killed_after(settings):
    """Have a foreread set these and be killed.

    One that starts before we do undoes it as well as we do.
    """
    code = (
        "import os, sys; from foreread.tracer.local.journal import Journal\n"
        f"with Journal(wait_s={left_s()}) as journal:\n"
        "    for one in sys.argv[1:]:\n"
        "        journal.set(*one.split(' '))\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    root = str(Path(foreread.__file__).parents[1])
    words = [sys.executable, "-c", code, *(f"{knob} {value}" for knob, value in settings)]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": root}, check=False)
    assert done.returncode == -9


@pytest.mark.thorough
def test_a_killed_trial_gives_back_the_tunables_too(loop):
    choose(loop, "mq-deadline")
    Path(queue(loop, "iosched/fifo_batch")).write_text("7")
    killed_after([(queue(loop, "scheduler"), "none"), (queue(loop, "nr_requests"), "40")])
    restore_leftovers()
    with Journal(wait_s=left_s()):
        assert (value(loop, "scheduler"), value(loop, "iosched/fifo_batch")) == ("mq-deadline", "7")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "settings", [{"max_sectors_kb": "16"}, {"max_sectors_kb": "16", "read_ahead_kb": "32"}]
)
def test_a_limit_of_the_queue_takes_the_window_with_it_and_both_come_back(loop, trials, settings):
    before = value(loop, "max_sectors_kb")
    wanted = {queue(loop, name): text for name, text in settings.items()}
    with trials() as bench:
        outcome = bench.run(Trial(tuple(wanted.items())))
    assert outcome.in_force == wanted
    with Journal(wait_s=left_s()):
        assert (value(loop, "max_sectors_kb"), loop.window_kb()) == (before, WINDOW_KB)


@pytest.mark.thorough
def test_the_window_comes_back_with_a_limit_that_a_killed_trial_has_set(loop):
    before = value(loop, "max_sectors_kb")
    killed_after([(queue(loop, "max_sectors_kb"), "16"), (queue(loop, "read_ahead_kb"), "32")])
    restore_leftovers()
    with Journal(wait_s=left_s()):
        assert (value(loop, "max_sectors_kb"), loop.window_kb()) == (before, WINDOW_KB)


@pytest.mark.thorough
def test_a_refused_knob_is_reported_and_nothing_is_measured(loop, trials):
    knob, gone = queue(loop, "scheduler"), queue(loop, "iosched/read_lat_nsec")
    with trials() as bench:
        outcome = bench.run(Trial(((knob, "nosuch"), (gone, "1"))))
    assert (outcome.status, outcome.seconds) == ("refused", None)
    assert set(outcome.refused) == {knob, gone}


@pytest.mark.thorough
def test_a_knob_that_is_not_listed_is_refused_and_the_next_trial_is_made(loop, trials):
    unlisted = Trial(((queue(loop, "nosuch"), "1"),))
    with trials() as bench:
        bench.announce([unlisted, Trial()])
        refused, made = bench.run(unlisted), bench.run(Trial())
    assert refused.status == "refused"
    assert "not a knob that foreread sets" in refused.refused[queue(loop, "nosuch")]
    assert made.status in MEASURED


@pytest.mark.thorough
def test_a_rounded_knob_is_reported(loop, trials):
    knob = queue(loop, "read_ahead_kb")
    with trials() as bench:
        outcome = bench.run(Trial(((knob, "6"),)))
    assert outcome.in_force == {knob: "4"}
    assert any("made 6 to 4" in note for note in outcome.notes)


@pytest.mark.thorough
def test_every_offered_scheduler_is_probed_once_and_the_old_one_is_back(loop, trials):
    knobs = [queue(loop, "scheduler"), queue(loop, "iosched/*"), "/proc/sys/vm/nosuch"]
    before = value(loop, "scheduler")
    with trials() as bench:
        probed = bench.probe(knobs)
    assert value(loop, "scheduler") == before
    assert knobs[0] in probed
    if "mq-deadline" in probed[knobs[0]]:
        assert probed[queue(loop, "iosched/fifo_batch")] == "16"
    assert knobs[2] not in probed


ATIME, COMMIT, BARRIER = "relatime,noatime,strictatime", "commit=", "barrier,nobarrier"


def option(loop, words):
    return f"mount:{words}:{loop.mountpoint}"


def test_mount_options_are_probed_set_and_put_back(loop, trials):
    before = options(loop)
    knobs = [option(loop, words) for words in (ATIME, COMMIT, BARRIER, "nosuch,other", "other=")]
    with trials() as bench:
        assert bench.mounted == str(loop.mountpoint)
        probed = bench.probe(knobs)
        assert options(loop) == before
        settings = tuple(zip(knobs[:3], ("noatime", "60", "nobarrier"), strict=True))
        command_sees = bench.run(Trial(settings))
    assert probed == {
        knobs[0]: "[relatime] noatime strictatime",
        knobs[1]: "5",
        knobs[2]: "[barrier] nobarrier",
    }
    assert command_sees.in_force == dict(settings)
    assert command_sees.status in MEASURED
    assert options(loop) == before


@pytest.mark.thorough
def test_the_command_runs_under_the_mount_options(loop, trials, tmp_path):
    seen = tmp_path / "seen"
    command = f"grep ' {loop.mountpoint} ' /proc/self/mountinfo >{seen}"
    settings = ((option(loop, ATIME), "strictatime"), (option(loop, COMMIT), "15"))
    with trials("sh", "-c", command) as bench:
        bench.run(Trial(settings))
    assert "commit=15" in seen.read_text()
    assert "relatime" not in seen.read_text()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "value"), [(COMMIT, "x,exec"), (ATIME, "exec"), ("inode_readahead_blks=", "33")]
)
def test_a_mount_option_that_is_not_taken_is_refused(loop, trials, words, value):
    before = options(loop)
    with trials() as bench:
        outcome = bench.run(Trial(((option(loop, words), value),)))
    assert outcome.status == "refused"
    assert options(loop) == before


@pytest.mark.thorough
def test_a_killed_trial_gives_back_its_mount_options(loop):
    before = options(loop)
    killed_after([(option(loop, ATIME), "noatime"), (option(loop, COMMIT), "60")])
    restore_leftovers()
    with Journal(wait_s=left_s()):
        assert options(loop) == before


@pytest.mark.thorough
def test_the_reader_reads_while_the_command_starts(loop, trials):
    sectors = 1 << 16  # more than the image has: nothing else reads so many
    script = (
        f"seen() {{ read -r _ _ sectors _ </sys/block/{loop.device}/stat; }}; seen; "
        f"end=$((sectors + {sectors})); until [ $sectors -ge $end ]; do sleep 0.01; seen; done"
    )
    with trials("sh", "-c", script) as bench:
        loaded = bench.run(Trial(scenario=Scenario.parse("reader")))
    assert loaded.status in MEASURED
    assert loaded.counters["disk.read_sectors"] >= sectors


def test_the_load_is_limited_by_the_control_group_that_the_start_joins(loop, trials):
    with limiting_group(loop.device, 1000, 40_000_000) as group:
        members = f"cat $(sed 's,.*,/proc/&/comm,' {group}/cgroup.procs) 2>/dev/null"
        script = (
            f"echo $$ >{group}/cgroup.procs; until {members} | grep -qx dd; do sleep 0.01; done"
        )
        with trials("sh", "-c", script) as bench:
            outcome = bench.run(Trial(scenario=Scenario.parse("reader")))
    assert outcome.status in MEASURED
    assert not any("not limited" in note for note in outcome.notes)


@pytest.mark.thorough
def test_a_load_that_cannot_join_the_group_of_the_start_says_so(loop, tmp_path):
    text = (Path(foreread.tracer.__file__).parent / "remote/load.sh").read_text()
    folder = tmp_path / "load"
    folder.mkdir()
    words = ["sh", "-c", text, "sh", "reader", f"/dev/{loop.device}", "0", loop.device, folder]
    done = subprocess.run(
        words,
        check=True,
        input="join /no such group\n\n",
        capture_output=True,
        text=True,
        timeout=left_s(),
    )
    assert re.fullmatch(
        r"ready [\d ]*\|its control group /no such group cannot be joined\n", done.stdout
    )


def test_the_writer_writes_and_leaves_nothing(loop, trials):
    with trials() as bench:
        outcome = bench.run(Trial(scenario=Scenario.parse(f"writer:{loop.mountpoint}")))
    assert outcome.status in MEASURED
    assert not list(loop.mountpoint.glob(".foreread*"))


@pytest.mark.thorough
def test_the_writer_finds_where_the_disk_can_be_written_to(loop, trials):
    subprocess.run(["mount", "-o", "remount,ro", loop.mountpoint], check=True)
    with trials() as bench, pytest.raises(RecordError, match="is mounted writable"):
        bench.run(Trial(scenario=Scenario.parse("writer")))


UNABLE = [
    ("reader:/nosuch", "the file /nosuch of the scenario does not exist"),
    ("reader:/proc", "/proc of the scenario is a folder"),
    ("reader:{root}/empty", "is empty"),
    ("writer:/nosuch", "the folder /nosuch of the scenario does not exist"),
    ("writer:/proc", "no file can be written in /proc"),
    ("writer:{root}", "No space left on device"),
    ("memory:1000000000", "are available|has no swap"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("scenario", "why"), UNABLE)
def test_a_load_that_cannot_run_says_why_before_the_first_run(loop, trials, scenario, why):
    (loop.mountpoint / "empty").touch()
    if "{root}" in scenario and scenario.startswith("writer"):
        with suppress(OSError):
            (loop.mountpoint / "full").write_bytes(bytes(32 << 20))
    asked = Scenario.parse(scenario.format(root=loop.mountpoint))
    with trials() as bench:
        with pytest.raises(RecordError, match=why) as error:
            bench.check_load(asked)
        assert error.value.remedy
        assert bench.run(Trial()).status in MEASURED  # its knobs and locks are free
    assert not list(loop.mountpoint.glob(".foreread*"))


@pytest.mark.thorough
def test_a_load_that_runs_is_tried_and_ended(loop, trials):
    with trials() as bench:
        bench.check_load(Scenario.parse(f"writer:{loop.mountpoint}"))
        assert not list(loop.mountpoint.glob(".foreread*"))
        assert bench.run(Trial(scenario=Scenario.parse("reader"))).status in MEASURED


@pytest.mark.thorough
def test_a_reader_that_reads_nothing_is_not_a_load(tmp_path, trials):
    os.mkfifo(tmp_path / "fifo")
    # What lives stays in memory: the program that reads is not itself read from the disk.
    living = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    with living, trials() as bench, pytest.raises(RecordError, match="has no effect"):
        bench.run(Trial(scenario=Scenario.parse(f"reader:{tmp_path / 'fifo'}")))


# Kills the dd that reads the disk. It is stopped first: one that had just read all when it was
# killed would be followed by the next.
END_READER = """
import os, signal, sys
from pathlib import Path

def is_stopped(process):
    state = ""
    while state not in ("T", "Z", "X"):
        state = (process / "stat").read_text().rpartition(")")[2].split()[0]
    return state == "T"

while True:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_dd = (process / "comm").read_text() == "dd\\n"
            if is_dd and sys.argv[1] in map(os.readlink, (process / "fd").iterdir()):
                os.kill(int(process.name), signal.SIGSTOP)
                if is_stopped(process):
                    os.kill(int(process.name), signal.SIGKILL)
                    sys.exit()
        except OSError:
            pass  # it has ended
"""


@pytest.mark.thorough
def test_a_load_that_ends_with_the_start_makes_it_a_failed_one(loop, trials):
    with trials(sys.executable, "-c", END_READER, f"/dev/{loop.device}") as bench:
        outcome = bench.run(Trial(scenario=Scenario.parse("reader")))
    assert outcome.status == "failed"
    why = "the reader of the scenario ended: signal 9"
    assert why in outcome.notes
    with pytest.raises(RecordError, match=f"the runs were stopped: {why}") as error:
        check_run(outcome)
    assert "room on the disk" in error.value.remedy


@pytest.mark.thorough
def test_a_failing_command_is_a_failed_trial(loop, trials):
    with trials("sh", "-c", "exit 3") as bench:
        assert bench.run(Trial()).status == "failed"


@pytest.mark.thorough
def test_a_hanging_command_is_ended_at_the_limit(loop, trials):
    with trials("sleep", "1000", limit_s=0.5) as bench:
        assert bench.run(Trial()).status == "hung"
        assert bench.run(Trial()).status == "hung"


@pytest.mark.thorough
def test_a_run_ended_by_a_duration_is_not_hung(loop, trials):
    with trials("sleep", "1000", ending=Ending(duration_s=0.1)) as bench:
        assert bench.run(Trial()).status in MEASURED


@pytest.mark.thorough
def test_reads_by_others_during_the_start_are_reported(loop, trials):
    big = loop.mountpoint / "big"
    big.write_bytes(os.urandom(8 << 20))
    started = loop.mountpoint / "started"
    # Not a child of ours, whose reads would be our own.
    wait = f"while [ -e {big} ] && [ ! -e {started} ]; do sleep 0.05; done"
    script = f"{wait}; cat {big}; : >{started}.done"
    subprocess.run(["setsid", "--fork", "sh", "-c", script], stdout=subprocess.DEVNULL, check=True)
    command = f": >{started}; until [ -e {started}.done ]; do sleep 0.05; done"
    with trials("sh", "-c", command) as bench:
        outcome = bench.run(Trial())
    assert outcome.status == "contended"
    assert any("other processes read" in note for note in outcome.notes)


def folder_of_load(loop):
    """Return the folder of the load that writes to the file system: the last word of its shell."""
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = os.fsdecode(process.read_bytes()).split("\0")
            if str(loop.mountpoint) in words and "writer" in words:
                return Path(words[-2])
    raise AssertionError("no load writes")


@pytest.mark.thorough
def test_a_killed_foreread_takes_its_load_with_it(loop, tmp_path):
    code = (
        "import sys\n"
        "from foreread.boards.target import LocalTarget\n"
        "from foreread.tracer.local.run import RunOptions\n"
        "from foreread.tracer.trials.trial import Scenario, Trial, TrialOptions\n"
        "from foreread.tracer.machines import bench_on\n"
        "run = RunOptions(['sh', '-c', 'echo up >$0; sleep 1000', sys.argv[3]], allow_warm=True)\n"
        "options = TrialOptions(run, devices=(sys.argv[1],), wait_s=float(sys.argv[4]))\n"
        "with bench_on(LocalTarget(), options) as bench:\n"
        "    bench.run(Trial(scenario=Scenario.parse('writer:' + sys.argv[2])))\n"
    )
    root = str(Path(foreread.__file__).parents[1])
    up = tmp_path / "up"
    words = [sys.executable, "-c", code, loop.device, loop.mountpoint, up, str(left_s())]
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": root}) as process:
        wait_until(lambda: has_text(up))
        assert list(loop.mountpoint.glob(".foreread*"))
        folder = folder_of_load(loop)
        assert folder.is_dir()
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not folder.exists() and not list(loop.mountpoint.glob(".foreread*")))


@pytest.mark.thorough
def test_the_folder_of_a_killed_host_is_removed_after_its_lease(loop, nowhere):
    run = RunOptions([str(loop.busybox), "true"], streams=nowhere)
    with Job(LocalTarget(), PARTS) as job:
        memory = Path(job.folder).parent
    places = [memory / f"foreread-{secrets.token_hex(8)}" for _ in range(3)]
    begins = ""  # its lease is not written yet
    try:
        for place, lease in zip(places, ("1\n", "99999999999\n", begins), strict=True):
            place.mkdir()
            (place / "lease").write_text(lease)
        with trials_on(LocalTarget(), TrialOptions(run, wait_s=left_s())) as bench:
            bench.probe([queue(loop, "read_ahead_kb")])
        assert [place.exists() for place in places] == [False, True, True]
    finally:
        for place in places:
            shutil.rmtree(place, ignore_errors=True)


@pytest.mark.thorough
def test_knobs_are_free_while_a_host_fetches_its_result(loop, nowhere):
    run = RunOptions([str(loop.busybox), "true"], streams=nowhere, allow_warm=True)
    with Job(LocalTarget(), PARTS) as job:
        machine = Machine.parse(job.ask("probe", step="probe"))
        received = settings(machine, run, left_s()) | {
            **memory_settings(None, watched=False),
            "counted": "",
            "scenario": "idle",
            "watched": "",
            "replayer": "",
            "later": "",
        }
        job.settings(received, run.command)
        run_to_end(job)
        owner = (Path(job.folder) / "owner").read_text()
        job.ask("result", step="fetching the result")
        lock = Path(job.folder).with_name("foreread.lock")
        assert not lock.exists() or lock.read_text() != owner
        options = TrialOptions(run, devices=(loop.device,), wait_s=left_s())
        with trials_on(LocalTarget(), options) as bench:
            assert bench.run(Trial()).status in MEASURED
