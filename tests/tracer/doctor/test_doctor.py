from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from foreread.boards.base.owner import owner_tag
from foreread.boards.target import LocalTarget
from foreread.tracer.backends.base import Probe, Recorded
from foreread.tracer.doctor import here as doctor
from foreread.tracer.doctor.examine import examine
from foreread.tracer.doctor.tunable import Finding

REPOSITORY = Path(__file__).parents[3]


class Fake:
    """A back-end that only has a probe."""

    def __init__(self, name: str, works: bool) -> None:
        self.name = name
        self._probe = Probe(name, works, "" if works else "broken", "" if works else "mend it")

    def probe(self) -> Probe:
        return self._probe

    def start(self, trace_directory: Path, events: list[str], buffer_kib: int) -> None:
        raise AssertionError

    def stop(self) -> Recorded:
        raise AssertionError


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> LocalTarget:
    """Return this machine, on which nothing was left and no other back-end is tried."""
    monkeypatch.setattr(doctor, "_leftovers", lambda place: Finding("leftovers", True, "none"))
    return LocalTarget()


def named(findings: list[Finding], name: str) -> Finding:
    return next(finding for finding in findings if finding.name == name)


def test_every_finding_that_is_not_ok_has_detail_and_remedy(machine: LocalTarget) -> None:
    diagnosis = examine(machine, [Fake("tracefs", False), Fake("perf", True)])
    assert all(one.detail for one in diagnosis.findings)
    assert all(one.ok or one.remedy for one in diagnosis.findings)
    assert not any(one.ok and one.remedy for one in diagnosis.findings)


def test_a_diagnosis_is_json(machine: LocalTarget) -> None:
    diagnosis = examine(machine, [Fake("perf", True)])
    document = json.loads(json.dumps(dataclasses.asdict(diagnosis)))
    assert document["kernel"] == os.uname().release
    assert document["backend"] == "perf"


def test_the_first_back_end_that_works_is_the_one_to_record_with(machine: LocalTarget) -> None:
    backends = [Fake("tracefs", False), Fake("trace-cmd", True), Fake("perf", True)]
    diagnosis = examine(machine, backends)
    assert diagnosis.backend == "trace-cmd"
    assert named(diagnosis.findings, "back-end tracefs").remedy == "mend it"


def test_without_a_back_end_nothing_can_be_recorded(machine: LocalTarget) -> None:
    assert not examine(machine, [Fake("perf", False)]).can_record


def test_rights_say_which_capability_is_missing() -> None:
    held = 0x1FFFFFFFFFF & ~(1 << 24)
    findings = doctor.capabilities(f"CapEff:\t{held:016x}\n")
    assert [one.name for one in findings if not one.ok] == ["CAP_SYS_RESOURCE"]


def test_a_kernel_without_perf_s_capability_does_not_lack_it() -> None:
    names = [one.name for one in doctor.capabilities("CapEff:\t0000003fffffffff\n", 37)]
    assert "CAP_PERFMON" not in names


def test_a_user_without_rights_is_sent_to_root() -> None:
    findings = doctor.capabilities("CapEff:\t0000000000000000\n")
    assert all(not one.ok and "root" in one.remedy for one in findings)


@pytest.mark.parametrize(
    ("mounts", "cgroups", "detail"),
    [
        ("cgroup /cg/blkio cgroup rw,blkio 0 0\n", "blkio\t7\t1\t1\n", "blkio"),
        ("cgroup2 /cg cgroup2 rw 0 0\n", "blkio\t0\t1\t1\n", "io.max"),
        # The controller is bound to a version 1 hierarchy that is not mounted.
        ("cgroup2 /cg cgroup2 rw 0 0\n", "blkio\t7\t1\t1\n", ""),
        ("", "", ""),
    ],
)
def test_throttling_needs_the_controller_where_it_is_mounted(
    mounts: str, cgroups: str, detail: str
) -> None:
    finding = doctor.throttling(mounts, cgroups)
    assert finding.ok == bool(detail)
    assert detail in finding.detail


def test_only_journals_of_the_dead_are_left_over(tmp_path: Path) -> None:
    for tag in (owner_tag(), "999999999-1"):
        (tmp_path / tag).mkdir()
    assert doctor.journal_leftovers(tmp_path) == [str(tmp_path / "999999999-1")]


def run_doctor(*prefix: str, path: str = "/usr/bin:/bin") -> dict[str, dict[str, object]]:
    """Return findings by name of a doctor run with ``path`` for programs."""
    script = (
        "import dataclasses, json; from foreread.tracer.doctor.examine import examine;"
        "from foreread.boards.target import LocalTarget;"
        "print(json.dumps(dataclasses.asdict(examine(LocalTarget()))))"
    )
    done = subprocess.run(
        [*prefix, sys.executable, "-c", script],
        cwd=REPOSITORY,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}


def test_without_the_programs_their_back_ends_say_what_to_install(tmp_path: Path) -> None:
    for program in ("sh", "cat", "grep", "sed"):
        (tmp_path / program).symlink_to(shutil.which(program) or "")
    findings = run_doctor(path=str(tmp_path))
    for program in ("perf", "trace-cmd"):
        assert findings[f"back-end {program}"]["detail"] == f"{program} is not installed"
        assert "install" in str(findings[f"back-end {program}"]["remedy"])


def test_an_unprivileged_user_learns_what_needs_root() -> None:
    prefix = []
    if os.geteuid() == 0:
        prefix = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        probe = [*prefix, sys.executable, "-c", "import msgspec"]
        if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
            pytest.skip("this machine keeps python from other users: not checked")
    findings = run_doctor(*prefix)
    needing_root = ("user", "tracefs", "events", "drop_caches", "back-end tracefs", "back-end perf")
    for name in needing_root:
        assert not findings[name]["ok"]
    assert all("root" in str(findings[name]["remedy"]) for name in needing_root[:4])
