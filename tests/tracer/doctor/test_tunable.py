"""What tuning needs: found where it is, reported with a remedy where it is not."""

from dataclasses import replace

import pytest

from foreread.boards.mounts import parse_mount
from foreread.tracer.doctor.tunable import Seen, tuning_findings

DISK = "20 1 179:2 / / rw,relatime - ext4 /dev/mmcblk0p2 rw"
ALL = Seen(
    meminfo="MemTotal: 1000 kB\nSwapTotal:    64 kB\n",
    mounts=[parse_mount(DISK)],
    schedulers={"mmcblk0": "none [mq-deadline] bfq", "loop0": "[none] mq-deadline"},
    bios=True,
    accounting=True,
    lacking=[],
)


def found(seen):
    return {one.name: one for one in tuning_findings(seen)}


def test_a_machine_that_has_it_all():
    findings = found(ALL)
    assert all(one.ok and not one.remedy for one in findings.values())
    assert findings["tune schedulers"].detail == "none mq-deadline bfq"
    assert findings["tune --scenario memory"].detail == "64 KiB of swap"


@pytest.mark.parametrize(
    ("lack", "name"),
    [
        ({"meminfo": "SwapTotal: 0 kB"}, "tune --scenario memory"),
        ({"meminfo": "SwapTotal:"}, "tune --scenario memory"),
        ({"mounts": []}, "tune --scenario writer"),
        ({"mounts": [parse_mount(DISK.replace("rw,", "ro,"))]}, "tune --scenario writer"),
        (
            {"mounts": [parse_mount(DISK.replace("/dev/mmcblk0p2", "none"))]},
            "tune --scenario writer",
        ),
        ({"schedulers": {}}, "tune schedulers"),
        ({"schedulers": {"sda": "[none]"}}, "tune schedulers"),
        ({"lacking": ["yes", "nosuch"]}, "tune scenarios"),
        ({"lacking": ["fio"]}, "calibrate"),
        ({"bios": False}, "fingerprint"),
        ({"accounting": False}, "tune others' reads"),
    ],
)
def test_missing_parts_are_reported_with_their_remedy(lack, name):
    findings = found(replace(ALL, **lack))
    (one,) = (one for one in findings.values() if not one.ok)
    assert one.name == name
    assert one.detail and one.remedy
