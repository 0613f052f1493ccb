"""The process that reads a capture: it crashes, starves or hangs without harm to its caller."""

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hostile_archives import EXAMPLE
from rings import further
from waiting import wait_until

from foreread.analyzer.ingest import allowance, handed_over, isolated
from foreread.analyzer.ingest.isolated import call
from foreread.analyzer.ingest.load import load, read
from foreread.analyzer.ingest.recording import TraceError
from foreread.boards.base.owner import start_time
from foreread.boards.base.units import MIB
from foreread.boards.profile import load_profile
from foreread.tracer.formats.limits import LimitError

HERE = Path(__file__)
ROOT = HERE.parents[3]
EVENT = "sched:sched_process_exec"


def refused(function, match, *arguments):
    with pytest.raises(TraceError, match=match) as error:
        call(function, HERE, *arguments)
    assert error.value.remedy
    assert str(HERE) in str(error.value)
    return error.value


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
def test_a_crash_of_the_reader_is_an_error_with_a_remedy(number):
    refused(lambda _path: os.kill(os.getpid(), number), f"the reader crashed on .*{number.name}")


def test_a_reader_that_the_kernel_kills_is_an_error_about_memory():
    refused(lambda _path: os.kill(os.getpid(), signal.SIGKILL), "memory is short")


def test_a_reader_that_exits_is_an_error():
    refused(lambda _path: os._exit(0), "ended without a result")


def test_a_reader_that_lives_on_after_a_damaged_answer_is_ended(monkeypatch):
    def damaged(channel, _answer):
        channel.send(b"?")
        signal.pause()

    monkeypatch.setattr(handed_over, "send", damaged)
    monkeypatch.setattr(isolated, "_DYING_S", 0.0)
    before = children()
    refused(lambda _path: None, "the reader of")
    assert children() <= before


def test_more_memory_than_granted_is_an_error_and_not_a_traceback():
    assert refused(lambda _path: np.ones(700 * MIB, "u1"), "more memory").__cause__ is not None


@pytest.mark.thorough
def test_memory_is_granted_by_the_size_of_the_data():
    def fill(_path):
        allowance.grant(100 * MIB)
        return int(np.ones(1200 * MIB, "u1")[-1])

    assert call(fill, HERE) == 1


@pytest.mark.thorough
def test_a_reader_that_does_not_end_is_stopped_by_its_cpu_time(monkeypatch):
    monkeypatch.setattr(allowance, "_SECONDS", 1)
    monkeypatch.setattr(allowance, "WALL_PER_CPU", 1000)

    def spin(_path):
        while True:
            pass

    refused(spin, "more CPU time")


def test_a_reader_that_waits_is_stopped_by_the_clock(monkeypatch):
    monkeypatch.setattr(allowance, "WALL_PER_CPU", 0)
    refused(lambda _path: signal.pause(), "was not read within 0 s")


def test_an_error_of_the_reader_arrives_as_it_is():
    def fail(path):
        raise LimitError(f"{path} is too large", "shorten it")

    with pytest.raises(LimitError, match="is too large") as error:
        call(fail, HERE)
    assert error.value.remedy == "shorten it"
    assert "in fail" in str(error.value.__cause__)


def test_an_error_of_the_system_keeps_its_number_and_file():
    with pytest.raises(FileNotFoundError) as error:
        call(lambda path: (path / "none").read_bytes(), HERE.parent)
    assert error.value.filename == str(HERE.parent / "none")


def test_a_bug_in_a_reader_is_an_error_with_its_traceback_as_the_cause():
    error = refused(lambda _path: {}["gene"], "KeyError: 'gene'")
    assert "in <lambda>" in str(error.__cause__)


def test_in_a_limited_process_nothing_is_started_again():
    def nested(path):
        return os.getpid(), call(lambda _path: os.getpid(), path)

    outer, inner = call(nested, HERE)
    assert outer == inner != os.getpid()


def test_without_a_process_the_error_says_how_to_get_one(monkeypatch):
    def fail():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fail)
    refused(lambda _path: None, "no process can be started")


def same(one, other):
    for name in ("accesses", "requests", "files"):
        left, right = getattr(one, name), getattr(other, name)
        assert all(np.array_equal(left[column], right[column]) for column in left)
    assert (one.paths, one.notes, one.counts) == (other.paths, other.notes, other.counts)
    assert one.capture == other.capture
    assert one.entries == other.entries


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_arrives_is_what_was_read(method, monkeypatch, tmp_path):
    monkeypatch.setenv(isolated.METHOD, method)
    apart, here = load(EXAMPLE), read(EXAMPLE, "tree", str(tmp_path))
    same(apart, here)
    for name in (EVENT, "sched:sched_switch"):
        found = apart.trace.read_fields(name, ())
        expected = here.trace.read_fields(name, ())
        assert len(found["time_ns"]) > 0
        assert all(np.array_equal(found[column], expected[column]) for column in expected)
    apart.accesses["page"][0] += 1  # the arrays are the caller's own


def test_beside_a_thread_another_interpreter_reads(monkeypatch):
    monkeypatch.delenv(isolated.METHOD, raising=False)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked beside a thread"))
    ready = threading.Event()
    thread = threading.Thread(target=ready.wait)
    thread.start()
    try:
        assert load(EXAMPLE).accesses.rows > 0
    finally:
        ready.set()
        thread.join()


def children():
    found = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    return {int(pid) for pid in found}


def loaded():
    before = children()
    recording = load(EXAMPLE)
    (pid,) = children() - before
    return recording, pid


def test_the_process_ends_with_the_recording():
    recording, pid = loaded()
    assert recording.trace.read_fields(EVENT, ())
    del recording
    assert not Path(f"/proc/{pid}").exists()


def test_fields_of_a_reader_that_died_are_an_error():
    recording, pid = loaded()
    os.kill(pid, signal.SIGSEGV)
    for match in ("crashed on .*SIGSEGV", "has ended"):
        with pytest.raises(TraceError, match=match) as error:
            recording.trace.read_fields(EVENT, ())
        assert error.value.remedy


def test_an_interrupt_of_the_caller_leaves_the_reader_alone():
    recording, pid = loaded()
    os.kill(pid, signal.SIGINT)
    assert len(recording.trace.read_fields(EVENT, ())["time_ns"]) > 0


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_request_that_arrives_while_the_reader_works_waits(method, monkeypatch):
    monkeypatch.setenv(isolated.METHOD, method)
    reader = load(EXAMPLE).trace.read_fields.__self__
    for _ in range(300):
        reader._channel.send(pickle.dumps(("sched:sched_switch", ())))
    assert all(len(reader.receive().value["time_ns"]) > 0 for _ in range(300))


def test_an_unknown_field_is_an_error_and_the_next_one_is_read():
    recording, _pid = loaded()
    with pytest.raises(TraceError, match="no field 'nothing'"):
        recording.trace.read_fields(EVENT, ("nothing",))
    assert len(recording.trace.read_fields(EVENT, ("filename",))["filename"]) > 0


def test_a_fork_of_the_caller_does_not_take_its_answers():
    recording, _pid = loaded()
    pid = os.fork()
    if pid == 0:
        try:
            recording.trace.read_fields(EVENT, ())
        except TraceError as error:
            os._exit(7 if "another process" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert len(recording.trace.read_fields(EVENT, ())["time_ns"]) > 0


CALLER = {
    "waits": "import foreread; kept = foreread.load(sys.argv[1]); print(); sys.stdin.read()",
    "works": "from pathlib import Path; from foreread.analyzer.ingest import isolated; "
    "isolated.call(Path.read_bytes, Path(sys.argv[1]))",
}


@pytest.mark.parametrize("method", further(["fork", "spawn"]))
@pytest.mark.parametrize("state", CALLER)
def test_the_reader_ends_when_its_caller_is_killed(state, method, tmp_path):
    fifo = tmp_path / "fifo"  # as long as it is open here, reading it has no end
    os.mkfifo(fifo)
    caller = subprocess.Popen(
        [
            sys.executable,
            "-uc",
            f"import sys; {CALLER[state]}",
            EXAMPLE if state == "waits" else fifo,
        ],
        env={**os.environ, isolated.METHOD: method},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    held = caller.stdout.readline() if state == "waits" else fifo.open("wb")
    (pid,) = Path(f"/proc/{caller.pid}/task/{caller.pid}/children").read_text().split()
    caller.kill()
    caller.communicate()
    wait_until(lambda: start_time(int(pid)) is None)
    del held


def test_nothing_is_left_unpacked_after_a_crash(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    crash = lambda *_: os.kill(os.getpid(), signal.SIGSEGV)  # noqa: E731
    monkeypatch.setattr("foreread.analyzer.ingest.load.interpret", crash)
    with pytest.raises(TraceError, match="crashed"):
        load(EXAMPLE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("board", ["arm64", "loop"])
def test_the_known_cost_of_a_board_s_disk_arrives_with_what_it_leaves_unset(board):
    (disk, *_) = load_profile(board).storage
    arrived = call(lambda _path: disk, HERE)
    assert arrived == disk
    assert arrived.model is disk.model


def test_only_known_types_are_made_of_a_result():
    class Harmful:
        def __reduce__(self):
            return os.system, ("true",)

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        for value in (Harmful(), time.sleep, subprocess.Popen):
            theirs.send(b"I" + pickle.dumps(value))
            with pytest.raises(ValueError, match="in a result"):
                handed_over.receive(ours)


@pytest.mark.parametrize("rows", [0, 1, 100_000])
def test_arrays_arrive_whole_and_writable(rows):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        sent = {"a": np.arange(rows, dtype="u8"), "b": np.zeros(0, "u2"), "c": b"x", "d": "\udc80"}
        handed_over.send(theirs, sent)
        found = handed_over.receive(ours)
    assert np.array_equal(found["a"], sent["a"])
    assert (found["b"].dtype, found["c"], found["d"]) == (np.dtype("u2"), b"x", "\udc80")
    assert found["a"].flags.writeable


def test_a_result_that_may_still_change_is_refused():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    memory = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    with ours, theirs:
        socket.send_fds(theirs, [b"M"], [memory])
        with pytest.raises(ValueError, match="may still change"):
            handed_over.receive(ours)
    os.close(memory)
