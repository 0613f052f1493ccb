"""A target's shell sets and puts back listed knobs only, whatever a host or a journal asks for."""

from __future__ import annotations

import subprocess

import pytest
from scratch_roots import below
from shells import BUSYBOX, DASH, each_shell

from foreread.tracer.runs.knobs import shell_functions

SWAPPINESS, WINDOW = "/proc/sys/vm/swappiness", "/sys/block/sda/queue/read_ahead_kb"
VICTIMS = [
    "/proc/sys/kernel/sysrq",
    "/proc/sys/vm/drop_caches",
    "/sys/power/state",
    "/sys/block/sda/device/state",
    "/sys/block/sda/queue/../device/state",
    "/etc/passwd",
]


class Target:
    """A scratch folder as a machine whose files are knobs, and its shell."""

    def __init__(self, root, shell):
        self.root, self.shell, self.job = root, shell, root / "job"
        self.job.mkdir()
        for knob in (*VICTIMS, WINDOW):
            self.put(knob, "1")
        self.put(SWAPPINESS, "60")
        self.put("/proc/meminfo", "MemTotal:       65536 kB")

    def path(self, knob):
        return self.root / knob.lstrip("/")

    def put(self, knob, text):
        self.path(knob).parent.mkdir(parents=True, exist_ok=True)
        self.path(knob).write_text(f"{text}\n")

    def get(self, knob):
        return self.path(knob).read_text().rstrip("\n")

    def run(self, call, *words):
        """Run a function of knobs.sh; paths in its output are the machine's again."""
        head = f"set -u\ntab='\t' job='{self.job}'\n"
        done = subprocess.run(
            [
                *self.shell,
                "-c",
                f'{head}{below(self.root, shell_functions())}\n{call} "$@"',
                "sh",
                *words,
            ],
            capture_output=True,
            text=True,
            check=True,
            cwd=self.job,
        )
        assert done.stderr == ""
        return done.stdout.replace(str(self.root), "").splitlines()

    def set(self, knob, value):
        return self.run("set_knob", f"{self.root}{knob}", value)

    def replay(self, *changes):
        """Undo a journal that somebody has forged; return what is said."""
        lines = ("\t".join((f"{self.root}{knob}", old, new)) for knob, old, new in changes)
        (self.job / "journal").write_text("".join(f"{line}\n" for line in lines))
        return self.run("restore", str(self.job), "leftover")


@pytest.fixture
def target(request, tmp_path):
    return Target(tmp_path, request.param)


ON_EACH = pytest.mark.parametrize("target", each_shell(DASH, BUSYBOX), indirect=True)


@ON_EACH
@pytest.mark.parametrize("knob", VICTIMS)
def test_a_job_refuses_to_set_what_is_not_listed(target, knob):
    assert target.set(knob, "3") == [f"unset {knob}\t\tit is not a knob that foreread sets"]
    assert target.get(knob) == "1"
    assert not (target.job / "journal").exists()


@ON_EACH
@pytest.mark.parametrize("knob", VICTIMS)
def test_a_forged_journal_of_a_target_writes_nothing(target, knob):
    said = target.replay((knob, "mem", "1"))
    assert said == [f"leftover {knob}\tmem\tit is not a knob that foreread sets"]
    assert target.get(knob) == "1"


@ON_EACH
def test_values_outside_of_the_range_are_refused_with_the_range(target):
    (said,) = target.set(SWAPPINESS, "9999")
    assert said == f"unset {SWAPPINESS}\t60\t9999 is not a whole number from 0 to 200"
    (said,) = target.replay((SWAPPINESS, "9999", "60"))
    assert said.endswith("9999 is not a whole number from 0 to 200: it stayed at 60")
    assert target.get(SWAPPINESS) == "60"


@ON_EACH
def test_memory_to_keep_free_is_compared_with_the_memory(target):
    knob = "/proc/sys/vm/min_free_kbytes"
    target.put(knob, "1024")
    (said,) = target.set(knob, "8193")
    assert said.endswith("8193 KiB is not within 1/8 of the memory")
    assert target.set(knob, "8192") == [f"knob {knob}\t1024\t8192"]


@ON_EACH
def test_a_listed_knob_is_set_and_put_back(target):
    assert target.set(WINDOW, "64") == [f"knob {WINDOW}\t1\t64"]
    assert target.run("restore", str(target.job), "restored") == [f"restored {WINDOW}\t1\t"]
    assert target.get(WINDOW) == "1"


@ON_EACH
def test_a_value_that_could_not_be_put_back_is_left(target):
    """It says 0 while dirty_bytes is in force, which a write would replace."""
    knob = "/proc/sys/vm/dirty_ratio"
    target.put(knob, "0")
    (said,) = target.set(knob, "10")
    assert said == f"unset {knob}\t0\t0 is not a whole number from 1 to 100"
    assert target.get(knob) == "0"
