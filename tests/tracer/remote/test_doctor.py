"""What a target's doctor finds: on this machine as a target, and in hostile answers."""

import os
import re
from contextlib import nullcontext
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import left_s

from boards.target import LocalTarget, Result
from tracer.backends import tracefs_mount
from tracer.backends.base import WANTED_EVENTS
from tracer.local import doctor
from tracer.remote.doctor import APPLETS, examine_target


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


def test_this_machine_as_a_target_has_the_local_facts():
    # Another foreread would mount and unmount tracefs meanwhile.
    with (
        tracefs_mount.mounted() if os.geteuid() == 0 else nullcontext(tracefs_mount.find()) as place
    ):
        there, here = examine_target(LocalTarget()), doctor.examine()
        missing = [one.name for one in doctor.event_findings(place)] if place else []
    assert (there.kernel, there.generation) == (here.kernel, here.generation)
    found = {one.name: one for one in there.findings}
    assert found["user"].ok == (os.geteuid() == 0)
    assert found["applets"].ok
    if place:
        missing = [name for name in missing if name != "events"]
        assert [name for name in found if name.startswith("event ")] == missing
    tunable = ("tune", "fingerprint", "calibrate")
    lowest = [  # others attach and mount images meanwhile
        {one.name: one.lowest for one in found.disks if not one.name.startswith("loop")}
        for found in (there, here)
    ]
    assert lowest[0] == lowest[1]
    ours = {one.name: one.ok for one in here.findings if one.name.startswith(tunable)}
    assert ours.pop("tune --sampler tpe") in (True, False)  # which is not the target's
    assert ours == {name: one.ok for name, one in found.items() if name.startswith(tunable)}


def test_a_board_that_has_all_it_takes():
    diagnosis = examine_target(Liar(lines(**GOOD)))
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
    diagnosis = examine_target(Liar(lines(**GOOD | change)))
    (found,) = (one for one in diagnosis.findings if one.name == finding)
    assert not found.ok
    assert found.remedy
    assert not diagnosis.can_record


def test_tracefs_that_is_not_mounted_yet_is_not_an_obstacle():
    facts = GOOD | {"tracefs": [], "event": [], "mountable": ["tracefs"]}
    assert examine_target(Liar(lines(**facts))).can_record


keys = st.sampled_from(["uid", "tracefs", "event", "writable", "lacking", "left", "nonsense"])
answers = st.lists(st.tuples(keys, st.text(max_size=40)))


@given(answer=st.binary() | answers.map(lambda pairs: "\n".join(map(" ".join, pairs)).encode()))
def test_random_answers_do_not_crash_it(answer):
    diagnosis = examine_target(Liar(answer, release=os.fsdecode(answer)))
    assert diagnosis.findings


def test_only_applets_that_are_asked_for_are_missing():
    diagnosis = examine_target(Liar(lines(lacking=["$(reboot)", *APPLETS[:1]])))
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
    diagnosis = examine_target(Liar(lines(**facts)))
    (found,) = (one for one in diagnosis.findings if one.name == "tracefs")
    assert found.ok == mounts
    assert ("recording mounts it" in found.detail) == mounts
    assert bool(found.remedy) != mounts


def test_the_target_says_whether_its_user_may_mount():
    said = LocalTarget().run(["sh", "-c", doctor_script(), "sh", "", ""], timeout_s=left_s()).stdout
    assert re.search(rb"^capabilities [0-9a-f]+$", said, re.MULTILINE)


def doctor_script():
    return (resources.files("tracer.remote") / "doctor.sh").read_text()
