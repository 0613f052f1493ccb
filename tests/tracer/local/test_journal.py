"""The journal on a scratch tree that stands in for /sys, killed for real."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rings import further
from scratch_roots import below

import foreread
from foreread.boards.base.interrupts import Interrupted, orderly_exit
from foreread.tracer.error import RecordError
from foreread.tracer.local import journal as journals
from foreread.tracer.local.journal import Journal, restore_leftovers
from foreread.tracer.runs.knobs import KnobRefused, shell_functions
from foreread.tracer.runs.restored import GONE, Restored, unrestored

NAMES = [f"/sys/block/disk{n}/queue/read_ahead_kb" for n in range(3)]
# Writes of one process are counted; it is killed, with its shell, before one more than allowed.
DYING = """
write_knob() {{
    echo write >>{writes}
    [ "$(wc -l <{writes})" -le {allowed} ] || {{ kill -9 $PPID $$; sleep 60; }}
    echo "$2" >"$1"
}}
"""
KILLED = """
import os, signal, sys
from pathlib import Path
from foreread.tracer.local import journal as journals

script = Path(sys.argv[1]).read_text()
journals.shell_functions = lambda: script
with journals.Journal(Path(sys.argv[2])) as journal:
    for round in ("0", "64"):
        for knob in sys.argv[3:]:
            journal.set(knob, round)
    os.kill(os.getpid(), signal.SIGKILL)
"""


class Machine:
    """A root directory with knobs; its shell has their paths below that root."""

    def __init__(self, root):
        self.root = root
        self.script = below(root, shell_functions())
        self.journals = root / "journals"
        self.knobs = [f"{root}{name}" for name in NAMES]
        for number, knob in enumerate(self.knobs):
            Path(knob).parent.mkdir(parents=True)
            Path(knob).write_text(f"{128 + number}\n")

    def values(self):
        return [Path(knob).read_text().strip() for knob in self.knobs]

    def journal(self, **more):
        return Journal(self.journals, **more)

    def restore(self):
        # Processes, mounts and files are the whole machine's: others may have left some just now.
        found = restore_leftovers(self.journals)
        return [one for one in found if one.value not in ("ended", "unmounted", "removed")]

    def write_journal(self, *lines, boot=None):
        self.journals.mkdir(mode=0o700, exist_ok=True)
        folder = self.journals / "1-1"
        folder.mkdir()
        current = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        (folder / "boot").write_text(boot or current)
        (folder / "journal").write_text("".join(lines))
        return folder / "journal"


ORIGINAL = ["128", "129", "130"]


@pytest.fixture
def machine(tmp_path, monkeypatch):
    made = Machine(tmp_path)
    monkeypatch.setattr(journals, "shell_functions", lambda: made.script)
    return made


def change(knob, old, new):
    return f"{knob}\t{old}\t{new}\n"


def test_knobs_are_put_back_in_reverse_order(machine):
    with machine.journal() as journal:
        for knob in machine.knobs:
            assert journal.set(knob, "0") == "0"
        journal.set(machine.knobs[0], "64")
        assert machine.values() == ["64", "0", "0"]
        assert journal.original(machine.knobs[0]) == "128"
    assert machine.values() == ORIGINAL
    assert [one.knob for one in journal.restored] == machine.knobs[::-1]
    assert [path.name for path in machine.journals.iterdir()] == ["lock"]


def test_one_shell_reports_each_setting(machine):
    gone = machine.knobs[1]
    Path(gone).unlink()
    with machine.journal() as journal:
        outcomes = journal.set_all([(knob, "0") for knob in machine.knobs])
        assert journal.set_all([]) == {}
        assert isinstance(outcomes.pop(gone), KnobRefused)
        assert outcomes == {machine.knobs[0]: "0", machine.knobs[2]: "0"}
    assert [one.knob for one in journal.restored] == [machine.knobs[2], machine.knobs[0]]


def test_no_knob_is_set_without_its_note(machine):
    with machine.journal() as journal:
        (journal.folder / "journal").mkdir()
        with pytest.raises(RecordError, match="cannot write a journal"):
            journal.set(machine.knobs[0], "0")
        assert machine.values() == ORIGINAL
        (journal.folder / "journal").rmdir()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_knobs_are_put_back_after_an_exception(machine, error):
    with pytest.raises(error), machine.journal() as journal:
        journal.set(machine.knobs[0], "0")
        raise error
    assert machine.values() == ORIGINAL


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_knobs_are_put_back_waits_until_they_are(machine, number):
    """It reaches the shell as well, as that of a service does."""

    def put_back_early():
        with orderly_exit(), machine.journal() as journal:
            for knob in machine.knobs:
                journal.set(knob, "0")
            own = f'put_back() {{ kill -{int(number)} $PPID $$; was_put_back "$@"; }}\n'
            machine.script = machine.script.replace("\nput_back() {", "\nwas_put_back() {", 1) + own
            journal.restore()

    with pytest.raises((KeyboardInterrupt, Interrupted)):
        put_back_early()
    assert machine.values() == ORIGINAL


@pytest.mark.parametrize("writes", further(range(7), (3,)))
def test_a_process_killed_after_any_write_is_undone(machine, writes):
    script = machine.root / "script"
    dying = DYING.format(writes=machine.root / "writes", allowed=writes)
    script.write_text(machine.script + dying)
    process = subprocess.run(
        [sys.executable, "-c", KILLED, script, machine.journals, *machine.knobs],
        env={**os.environ, "PYTHONPATH": str(Path(foreread.__file__).parents[1])},
        check=False,
    )
    assert process.returncode == -9
    assert (machine.values() == ORIGINAL) == (writes == 0)
    restored = machine.restore()
    assert machine.values() == ORIGINAL
    assert all(one.problem == "" for one in restored)
    assert machine.restore() == []


def test_a_shell_that_is_killed_while_knobs_are_put_back_leaves_them_to_the_next(machine):
    whole = machine.script
    with machine.journal() as journal:
        for knob in machine.knobs:
            journal.set(knob, "0")
        condition = f'[ "$2" != {machine.knobs[1]} ]'
        dies = f"put_back() {{ {condition} || sh -c 'kill -9 $PPID'; was_put_back \"$@\"; }}\n"
        machine.script = whole.replace("\nput_back() {", "\nwas_put_back() {", 1) + dies
    assert any(one.problem for one in journal.restored)
    assert machine.values() != ORIGINAL
    machine.script = whole
    assert all(one.problem == "" for one in machine.restore())
    assert machine.values() == ORIGINAL


def test_a_living_journal_is_not_undone_and_refuses_a_second(machine):
    with machine.journal() as journal:
        journal.set(machine.knobs[0], "0")
        assert machine.restore() == []
        with pytest.raises(RecordError, match=f"pid {os.getpid()}"), machine.journal():
            pass
        assert machine.values() == ["0", "129", "130"]


def test_a_new_journal_first_undoes_those_of_the_dead(machine):
    machine.write_journal(change(machine.knobs[0], "128", "0"))
    Path(machine.knobs[0]).write_text("0\n")
    with machine.journal() as journal:
        assert machine.values() == ORIGINAL
        journal.set(machine.knobs[0], "64")
    assert [one.knob for one in journal.leftovers] == [machine.knobs[0]]
    assert machine.values() == ORIGINAL


def test_a_value_that_somebody_else_set_meanwhile_is_left(machine):
    machine.write_journal(change(machine.knobs[0], "128", "0"))
    Path(machine.knobs[0]).write_text("999\n")
    (restored,) = machine.restore()
    assert "999" in restored.problem
    assert machine.values()[0] == "999"


def test_a_device_that_is_gone_is_reported_and_the_others_restored(machine):
    with machine.journal() as journal:
        for knob in machine.knobs:
            journal.set(knob, "0")
        Path(machine.knobs[1]).unlink()
    assert [one.problem for one in journal.restored] == ["", GONE, ""]
    assert not Path(machine.knobs[1]).exists()


def test_nothing_is_reported_of_a_file_system_that_was_unmounted(machine):
    knob = knob_with(machine, "/sys/fs/ext4/loop0/inode_readahead_blks", "32")
    with machine.journal() as journal:
        assert journal.set(knob, "0") == "0"
        Path(knob).unlink()
    assert [(one.knob, one.problem) for one in journal.restored] == [(knob, "")]


def test_a_journal_of_another_boot_is_not_applied(machine):
    machine.write_journal(change(machine.knobs[0], "4", "128"), boot="another")
    assert machine.restore() == []
    assert machine.values() == ORIGINAL


@pytest.mark.parametrize(
    "knob",
    [
        *("/etc/passwd", "/sys/../etc/passwd", "etc/passwd", "/proc/self/mem", "/sys//x"),
        *("/sys/a b", "mount:noatime:/../x", "mount:noatime:/x /y", "mount:no atime:/x"),
    ],
)
def test_a_hostile_journal_writes_nothing_outside_of_the_knobs(machine, knob):
    victim = machine.root / "etc/passwd"
    victim.parent.mkdir()
    victim.write_text("1")
    machine.write_journal(change(knob, "hacked", "1"))
    (restored,) = machine.restore()
    assert "is not a knob" in restored.problem
    assert victim.read_text() == "1"
    with machine.journal() as journal, pytest.raises(KnobRefused, match="is not a knob"):
        journal.set(knob, "0")


def knob_with(machine, name, value):
    knob = machine.root / name.lstrip("/")
    knob.parent.mkdir(parents=True, exist_ok=True)
    knob.write_text(f"{value}\n")
    return str(knob)


@pytest.mark.parametrize(
    "knob",
    [
        *("/proc/sys/kernel/sysrq", "/proc/sys/vm/drop_caches", "/sys/power/state"),
        *("/sys/block/disk0/device/state", "/sys/block/disk0/queue/../../../power/state"),
    ],
)
def test_a_knob_that_is_not_listed_is_neither_set_nor_put_back(machine, knob):
    knob = knob_with(machine, knob, "1")
    machine.write_journal(change(knob, "0", "1"))
    (restored,) = machine.restore()
    assert restored.problem == "it is not a knob that foreread sets"
    with machine.journal() as journal, pytest.raises(KnobRefused, match="is not a knob"):
        journal.set(knob, "0")
    assert Path(knob).read_text() == "1\n"


@pytest.mark.parametrize(
    ("knob", "value", "range_"),
    [
        ("/proc/sys/vm/swappiness", "201", "from 0 to 200"),
        ("/proc/sys/vm/swappiness", "60 ", "from 0 to 200"),
        ("/proc/sys/vm/min_free_kbytes", "8193", "1/8 of the memory"),
        ("/sys/block/disk0/queue/rq_affinity", "3", "from 0 to 2"),
        ("/sys/block/disk0/queue/scheduler", "a b", "a word"),
    ],
)
def test_a_value_outside_of_the_range_is_neither_set_nor_put_back(machine, knob, value, range_):
    knob_with(machine, "/proc/meminfo", "MemTotal:       65536 kB")
    knob = knob_with(machine, knob, "1")
    machine.write_journal(change(knob, value, "1"))
    (restored,) = machine.restore()
    assert re.search(range_, restored.problem)
    with machine.journal() as journal, pytest.raises(KnobRefused, match=range_):
        journal.set(knob, value)
    assert Path(knob).read_text() == "1\n"


def test_a_value_found_outside_of_what_may_be_set_is_put_back(machine):
    knob = knob_with(machine, "/proc/sys/vm/dirty_writeback_centisecs", "0")
    with machine.journal() as journal:
        assert journal.set(knob, "500") == "500"
        journal.set(knob, "100")
    assert Path(knob).read_text().strip() == "0"


def test_a_knob_whose_value_could_not_be_put_back_is_left(machine):
    """It says 0 while dirty_bytes is in force, which a write would replace."""
    knob = knob_with(machine, "/proc/sys/vm/dirty_ratio", "0")
    with machine.journal() as journal, pytest.raises(KnobRefused, match="0 is not"):
        journal.set(knob, "10")
    assert Path(knob).read_text() == "0\n"


@given(st.lists(st.binary(max_size=60) | st.just(b"/sys/x\ty"), max_size=5))
def test_damaged_journals_are_read_without_a_crash(tmp_path_factory, lines):
    machine = Machine(tmp_path_factory.mktemp("machine"))
    journal = machine.write_journal()
    journal.write_bytes(b"\n".join(lines))
    machine.restore()
    assert machine.values() == ORIGINAL
    assert not journal.exists()


def test_a_directory_that_others_can_write_to_is_not_trusted(machine):
    machine.write_journal(change(machine.knobs[0], "4", "128"))
    machine.journals.chmod(0o777)
    with pytest.raises(RecordError, match="only this user"):
        machine.restore()
    with pytest.raises(RecordError, match="only this user"), machine.journal():
        pass
    assert machine.values() == ORIGINAL


def test_a_link_in_place_of_the_directory_is_not_trusted(machine):
    (machine.root / "elsewhere").mkdir(mode=0o700)
    machine.journals.symlink_to(machine.root / "elsewhere")
    with pytest.raises(RecordError, match="only this user"):
        machine.restore()


def test_only_unrestored_knobs_get_a_note():
    knobs = [Restored("/sys/a", "128"), Restored("/sys/b", "128", GONE)]
    assert unrestored(knobs) == [f"/sys/b was not restored: {GONE}"]
