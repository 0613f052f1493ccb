"""A recorded boot as the host sees it: what went before, and boards that do not come back."""

from __future__ import annotations

from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from capture_builder import capture_of

from foreread.boards.target import Result, TargetError
from foreread.recording.steps import recorded
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import Boot, ReadBefore, read
from foreread.tracer.formats.seen import Seen
from foreread.tracer.remote import boot
from foreread.tracer.remote.boot import BootEnding, BootRun, boot_on, repair
from foreread.tracer.remote.boot_facts import boot_of
from foreread.tracer.remote.job import Fact
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

WORDS = ("--target", "ssh://root@board", "--boot")


def test_what_the_boot_read_before_is_noted():
    facts = [
        Fact("from", "scripts"),
        Fact("process", "1"),
        Fact("process", "109"),
        Fact("before", "mmcblk0 45 3874"),
        Fact("late", "sda"),
    ]
    found, notes = boot_of(facts)
    assert found == Boot(
        processes=[1, 109], read_before=[ReadBefore(disk="mmcblk0", requests=45, bytes=3874 * 512)]
    )
    assert notes[0].startswith("recorded from the first script that init runs: ")
    assert notes[1:] == [
        "before the recording began, 45 requests had read 1,937 KiB from mmcblk0: they are not in "
        "the capture",
        "sda appeared while the board booted: its window was the default one",
    ]


def test_boot_from_its_first_process_has_init_in_it():
    found, notes = boot_of([Fact("from", "init"), Fact("process", "1")])
    assert found == Boot(recorded_from="init", processes=[1], read_before=[])
    assert notes == []


@pytest.mark.parametrize("lines", [[], ["kernel"], ["init", "init"]])
def test_unknown_beginnings_are_refused(lines):
    facts = [Fact("from", line) for line in lines]
    with pytest.raises(RecordError, match="cannot parse the target's reply"):
        boot_of([*facts, Fact("process", "1")])


def test_a_command_has_no_boot():
    assert boot_of([Fact("run", "321 exit 0 0 0")]) == (None, [])


@pytest.mark.parametrize("line", ["mmcblk0 45", "mmcblk0 many 3874", "mmcblk0 1 2 3"])
def test_invalid_counts_are_refused(line):
    with pytest.raises(RecordError, match="cannot parse the target's reply"):
        boot_of([Fact("from", "init"), Fact("process", "1"), Fact("before", line)])


def test_the_repair_names_the_target_and_its_key():
    words = ("--identity", "/key", *WORDS)
    assert repair(words) == ("foreread doctor --restore --target ssh://root@board --identity /key")
    assert repair(()) == "foreread doctor --restore --target TARGET"


class Hook:
    """Notes what is asked of it."""

    origin = "scripts"

    def __init__(self):
        self.did = []

    def install(self, files, token, watch_s):
        self.did.append(f"install {' '.join(sorted(files))}")

    def arm(self):
        self.did.append("arm")

    def remove(self):
        self.did.append("remove")


class Board:
    """A board that is reached again after a reboot, or never; ``answer``: to a command."""

    def __init__(self, answer=None):
        self.answer = answer

    def reboot(self, timeout_s):
        if self.answer is None:
            raise TargetError(f"not reachable {timeout_s:g} s after the reboot", "see its console")

    def run(self, command, stdin=b"", timeout_s=None, stdout=None):
        if self.answer is None:
            raise TargetError("cannot be reached", "see its console")
        return Result(0, self.answer, b"")


@pytest.fixture
def hook(monkeypatch):
    monkeypatch.setattr(boot, "_settings", lambda *_: {})
    monkeypatch.setattr(boot, "_BACK_S", 0.0)
    return Hook()


def record(board, hook, output):
    options = RecordOptions(RunOptions(["/sbin/init"]), words=WORDS)
    with boot_on(board, options, BootEnding(within_s=9.0), hook, output):
        raise AssertionError


def test_board_that_does_not_come_back_is_reported_with_the_command(hook, tmp_path):
    with pytest.raises(RecordError, match="the board did not come back") as error:
        record(Board(), hook, tmp_path / "capture")
    assert "a boot after a power cycle is as before" in str(error.value)
    assert error.value.remedy == (
        "power-cycle the board, then remove what is left of the hook: "
        "foreread doctor --restore --target ssh://root@board"
    )
    assert hook.did == ["install job.sh place.sh settings", "arm"]
    assert not (tmp_path / "capture").exists()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"uptime 3.14\nwhy /run is full\nno line\n", "/run is full"),
        (b"uptime 3.14\n", "the hook did not run"),
    ],
)
def test_boot_that_was_not_recorded_is_reported_and_the_hook_removed(hook, tmp_path, answer, why):
    with pytest.raises(RecordError, match=f"the boot was not recorded: {why}"):
        record(Board(answer), hook, tmp_path / "capture")
    assert hook.did[-1] == "remove"
    assert not (tmp_path / "capture").exists()


def test_ctrl_c_while_the_board_restarts_removes_the_hook(hook, tmp_path):
    class Interrupted(Board):
        def reboot(self, timeout_s):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record(Interrupted(b"uptime 3.14\n"), hook, tmp_path / "capture")
    assert hook.did[-1] == "remove"
    assert not (tmp_path / "capture").exists()


def test_end_that_cannot_be_met_is_refused_before_anything_is_done(hook, tmp_path):
    options = RecordOptions(RunOptions(["/sbin/init"]))
    with pytest.raises(RecordError, match="duration must be positive"):
        recorded(boot_on(Board(), options, BootEnding(duration_s=0), hook, tmp_path / "capture"))
    assert hook.did == []


def test_board_out_of_reach_is_reported_with_the_command(hook, tmp_path):
    said = []

    class Interrupted(Board):
        def reboot(self, timeout_s):
            raise KeyboardInterrupt

    options = RecordOptions(RunOptions(["/sbin/init"]), words=WORDS, tell=said.append)
    with pytest.raises(KeyboardInterrupt):
        recorded(boot_on(Interrupted(), options, BootEnding(), hook, tmp_path / "capture"))
    assert hook.did[-1] == "arm"
    assert said[-1] == (
        "the target cannot be reached: it ends the recording and removes the hook by itself, or: "
        "foreread doctor --restore --target ssh://root@board"
    )


def test_capture_is_kept_if_the_hook_cannot_be_removed(tmp_path, monkeypatch):
    class Stuck(Hook):
        def remove(self):
            raise TargetError("/etc/foreread-boot cannot be removed", "make /etc writable")

    fetched = SimpleNamespace(options=None, output=tmp_path, named=lambda *_: (capture_of(), []))
    run = BootRun(None, fetched, ExitStack(), ExitStack(), Stuck())
    run.name_files(Seen())
    note = (
        "the hook is still on the target: /etc/foreread-boot cannot be removed: make /etc writable"
    )
    assert run.capture.notes == [note]
    assert read(tmp_path)[0].notes == [note]
    assert run.files == []
