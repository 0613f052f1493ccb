"""QEMU that hangs, dies or is not there, played by small programs."""

import subprocess
import sys
from pathlib import Path

import pytest
from waiting import left_s, wait_until

from foreread.boards.emulated.error import BoardError
from foreread.boards.emulated.machines import MACHINES, machine
from foreread.boards.emulated.qemu import Boot, Disk, died, qemu_words, run_qemu


@pytest.fixture
def qemu(monkeypatch, tmp_path):
    """Put an empty program by the name of every machine's QEMU first in the path."""
    for one in MACHINES.values():
        program = tmp_path / one.qemu
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


def words(name, tmp_path, memory_mib=256):
    boot = Boot(tmp_path / "k", tmp_path / "i", memory_mib, "quiet")
    disks = [Disk("image", tmp_path / "a,b"), Disk("result", tmp_path / "r", writable=True)]
    return qemu_words(machine(name), boot, disks, "shift=1")


@pytest.mark.parametrize("name", MACHINES)
def test_only_writable_knobs_are_written(name, tmp_path, qemu):
    drives = [word for word in words(name, tmp_path) if word.startswith("id=")]
    assert ["read-only=on" in drive for drive in drives] == [True, False]
    assert drives[0].endswith("/a,,b")


def test_memory_is_passed_on(tmp_path, qemu):
    line = words("armhf", tmp_path, memory_mib=64)
    assert line[line.index("-m") + 1] == "64"


def test_absent_qemu_names_its_package(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BoardError, match="qemu-system-mipsel is not installed") as caught:
        words("mipsel", tmp_path)
    assert caught.value.remedy == "apt-get install qemu-system-mips"


def test_one_that_ignores_sigterm_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("foreread.boards.emulated.qemu._KILL_AFTER_S", 0.1)
    stuck = ["sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"]
    with pytest.raises(BoardError, match=r"not finish within 0\.1 s; it printed nothing") as caught:
        run_qemu(stuck, tmp_path / "log", 0.1)
    assert "--time-out" in caught.value.remedy


def test_a_board_that_reports_nothing(tmp_path):
    run_qemu(["true"], tmp_path / "log", left_s())
    assert "it printed nothing" in str(died(tmp_path / "log"))


def test_its_last_output_is_reported(tmp_path):
    run_qemu(
        ["sh", "-c", "echo cannot set up guest memory >&2; exit 1"], tmp_path / "log", left_s()
    )
    assert "cannot set up guest memory" in str(died(tmp_path / "log"))


def test_a_panic_is_reported(tmp_path):
    line = b"[ 1.0] Kernel panic - not syncing: System is deadlocked on memory\r\n[ 1.1] CPU: 0\r\n"
    (tmp_path / "log").write_bytes(b"\xff" + line)
    error = died(tmp_path / "log")
    assert str(error) == "the guest's kernel panicked: System is deadlocked on memory"
    assert "--memory-mib" in error.remedy


def test_without_a_kernel_it_is_the_one_that_most_machines_have_or_the_newest():
    assert machine("armhf").default_kernel == "6.1"
    assert machine("x86_64").default_kernel == "6.1"
    assert machine("riscv64").default_kernel == "7.2"


def test_a_generic_kernel_is_the_same_version_of_another_flavour():
    x86 = machine("x86_64", "6.12-generic")
    assert x86.package_of("6.12-generic") == ("6.12", "amd64")
    assert x86.package_of("6.12") == ("6.12", "cloud-amd64")
    assert x86.offered[-4:] == ("5.10-generic", "6.1-generic", "6.12-generic", "7.2-generic")
    assert machine("armhf").offered == ("6.1",)  # it has all modules
    with pytest.raises(BoardError, match=r"armhf has no kernel 6\.1-generic"):
        machine("armhf", "6.1-generic")


def test_unknown_boards_and_kernels():
    with pytest.raises(BoardError, match="'sparc'") as caught:
        machine("sparc", "6.1")
    assert "mipsel" in caught.value.remedy
    with pytest.raises(BoardError, match=r"no kernel 2\.6") as caught:
        machine("mipsel", "2.6")
    assert "6.1" in caught.value.remedy


def test_it_ends_when_we_are_killed(tmp_path):
    code = (
        "import pathlib, sys; from foreread.boards.emulated.qemu import run_qemu;"
        "run_qemu(['sh', '-c', 'echo $$; exec sleep 600'], pathlib.Path(sys.argv[1]), 600)"
    )
    log = tmp_path / "log"
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", code, log], cwd=root) as killed:
        pid = wait_until(lambda: log.exists() and log.read_text().strip())
        killed.kill()
    wait_until(lambda: not running(pid))


def running(pid):
    try:
        return " Z" not in Path("/proc", pid, "stat").read_text().rpartition(")")[2][:2]
    except (FileNotFoundError, ProcessLookupError):
        return False
