"""What a target's doctor finds: on this machine as a target, and in hostile answers."""

import os
import re
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import left_s

from foreread.boards.target import LocalTarget, Result
from foreread.tracer.backends.base import INDISPENSABLE, WANTED_EVENTS
from foreread.tracer.doctor.examine import APPLETS, examine


class Liar:
    def __init__(self, answer, release="6.1.0"):
        self.answer = answer
        self.release = release

    def run(self, command, stdin=b"", timeout_s=None, stdout=None):
        return Result(0, self.answer, b"")

    def read_knob(self, path):
        return self.release


def lines(**facts):
    pairs = [f"{key} {value}" for key, values in facts.items() for value in values]
    return "\n".join(pairs).encode()


GOOD = {
    "uid": ["0"],
    "tracefs": ["/sys/kernel/tracing"],
    "event": WANTED_EVENTS,
    "writable": ["/proc/sys/vm/drop_caches", "/sys/block/mmcblk0/queue/read_ahead_kb"],
}


def test_a_board_that_has_all_it_takes():
    diagnosis = examine(Liar(lines(**GOOD)))
    assert diagnosis.can_record
    assert diagnosis.backend == "tracefs"


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"uid": ["1000"]}, "user"),
        ({"lacking": ["mkfifo"]}, "applets"),
        ({"tracefs": []}, "tracefs"),
        ({"event": WANTED_EVENTS[1:]}, "events"),
        ({"writable": GOOD["writable"][:1]}, "read_ahead_kb"),
        ({"writable": GOOD["writable"][1:]}, "drop_caches"),
    ],
)
def test_obstacles_are_named_with_their_remedy(change, finding):
    diagnosis = examine(Liar(lines(**GOOD | change)))
    (found,) = (one for one in diagnosis.findings if one.name == finding)
    assert not found.ok
    assert found.remedy
    assert not diagnosis.can_record


def test_each_missing_event_is_reported_with_its_cost():
    present = [INDISPENSABLE, "block:block_rq_issue"]
    findings = {one.name: one for one in examine(Liar(lines(**GOOD | {"event": present}))).findings}
    assert findings["events"].ok
    assert findings["events"].detail == f"2 of {len(WANTED_EVENTS)} wanted events"
    assert sum(name.startswith("event ") for name in findings) == len(WANTED_EVENTS) - 2
    assert "times" in findings["event block:block_rq_complete"].detail
    findings = {one.name: one for one in examine(Liar(lines(**GOOD | {"event": []}))).findings}
    assert not findings["events"].ok
    assert findings[f"event {INDISPENSABLE}"].detail == "nothing can be recorded"


def test_each_window_that_counts_is_named_with_its_value():
    sysfs = [
        f"/sys/block/sd{disk}/{name}:{value}"
        for disk, dev in (("a", "8:0"), ("b", "8:16"))
        for name, value in (("dev", dev), ("size", "9"), ("queue/read_ahead_kb", "128"))
    ]
    mounts = [f"1 1 {dev} / /{dev[0:3]} rw - ext4 /dev/x rw" for dev in ("8:0", "8:16")]
    writable = [GOOD["writable"][0], "/sys/block/sda/queue/read_ahead_kb"]
    facts = {**GOOD, "sys": sysfs, "mount": mounts, "writable": writable}
    diagnosis = examine(Liar(lines(**facts)))
    found = {one.name: one for one in diagnosis.findings if one.name.startswith("read_ahead_kb")}
    assert {name: one.ok for name, one in found.items()} == {
        "read_ahead_kb sda": True,
        "read_ahead_kb sdb": False,
    }
    assert found["read_ahead_kb sda"].detail == "writable, now 128"
    assert "stay at 128 KiB" in found["read_ahead_kb sdb"].detail
    assert not diagnosis.can_record


def test_tracefs_that_is_not_mounted_yet_is_not_an_obstacle():
    facts = GOOD | {"tracefs": [], "event": [], "mountable": ["tracefs"]}
    assert examine(Liar(lines(**facts))).can_record


keys = st.sampled_from(["uid", "tracefs", "event", "writable", "lacking", "left", "nonsense"])
answers = st.lists(st.tuples(keys, st.text(max_size=40)))


@given(answer=st.binary() | answers.map(lambda pairs: "\n".join(map(" ".join, pairs)).encode()))
def test_random_answers_do_not_crash_it(answer):
    diagnosis = examine(Liar(answer, release=os.fsdecode(answer)))
    assert diagnosis.findings


def test_only_applets_that_are_asked_for_are_missing():
    diagnosis = examine(Liar(lines(lacking=["$(reboot)", *APPLETS[:1]])))
    (found,) = (one for one in diagnosis.findings if one.name == "applets")
    assert found.detail == f"lacking: {APPLETS[0]}"


@pytest.mark.parametrize(
    ("user", "mounts"),
    [
        ({"uid": ["0"], "capabilities": ["000001ffffffffff"]}, True),
        ({"uid": ["1000"], "capabilities": ["0000000000000000"]}, False),
        ({"uid": ["0"], "capabilities": ["00000000a80425fb"]}, False),  # root in a container
        ({"uid": ["0"]}, True),
        ({"uid": ["1000"]}, False),
        ({"uid": ["1000"], "capabilities": ["none"]}, False),
    ],
)
def test_recording_mounts_tracefs_only_for_a_user_who_may_mount(user, mounts):
    facts = {**GOOD, "tracefs": [], "mountable": ["tracefs"], **user}
    diagnosis = examine(Liar(lines(**facts)))
    (found,) = (one for one in diagnosis.findings if one.name == "tracefs")
    assert found.ok == mounts
    assert ("recording mounts it" in found.detail) == mounts
    assert bool(found.remedy) != mounts


def test_the_target_says_whether_its_user_may_mount():
    said = LocalTarget().run(["sh", "-c", doctor_script(), "sh", "", ""], timeout_s=left_s()).stdout
    assert re.search(rb"^capabilities [0-9a-f]+$", said, re.MULTILINE)


def doctor_script():
    return (resources.files("foreread.tracer.doctor") / "doctor.sh").read_text()
