"""Runners of every architecture, executed: by this machine or by QEMU's user mode."""

import platform
import re
import shutil
import subprocess

import pytest
from waiting import left_s

from foreread.tracer.error import RecordError
from foreread.tracer.runner.executable import FAILED, executable
from foreread.tracer.runner.machines import CODES, code_of
from foreread.tracer.runner.steps import Advice, Advise, Map, Open, Pause, Read, Touch

MAPPED, PIECE = 0x2000_0000, 0x0100_0000
PAGE = 65536  # a multiple of every machine's page
QEMU = {("mips", "little"): "qemu-mipsel"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 2048)
    return path


def steps(path):
    at = MAPPED + PIECE
    return [
        Open(200, str(path)),
        Read(200, 0x12345, 5000),
        Advise(200, Advice.RANDOM, 0, 0),
        Advise(200, Advice.WILLNEED, 4 * PAGE, PAGE),
        Map(200, MAPPED, 0, 3 * PAGE),
        Touch(MAPPED + PAGE),
        Touch(MAPPED + PAGE, write=True),
        Pause(),
        Open(201, str(path)),
        Map(201, at, 2 * PAGE, PAGE, executable=True),
        Map(201, at + PIECE, PAGE, 2 * PAGE, shared=True, advice=Advice.SEQUENTIAL),
        Touch(at + 100),
        Touch(at + PIECE),
    ]


def run(machine, program, folder, *options):
    runner = folder / "run"
    runner.write_bytes(program)
    runner.chmod(0o755)
    emulator = QEMU.get(machine, f"qemu-{machine[0]}")
    if shutil.which(emulator) is None:
        pytest.skip(f"no {emulator}: the runner was not executed")
    return subprocess.run(
        [emulator, *options, runner], capture_output=True, text=True, check=False, timeout=left_s()
    )


@pytest.mark.parametrize("machine", CODES, ids="-".join)
def test_every_architecture_makes_the_calls_that_were_asked_for(machine, tmp_path, file):
    program = executable(steps(file), *machine, pause_ms=3)
    done = run(machine, program, tmp_path, "-strace")
    assert done.returncode == 0, done.stderr
    assert re.search(r"pread64\(200,402653184,5000,(0,)*74565", done.stderr)
    calls = [re.sub(r"^\d+ ", "", line) for line in done.stderr.splitlines()]
    names = [re.match(r"\w+", call)[0] for call in calls if re.match(r"\w+\(", call)]
    wanted = ["mmap", "openat", "dup3", "pread64", "fadvise64", "fadvise64", "mmap", "nanosleep"]
    wanted += ["openat", "dup3", "mmap", "mmap", "madvise", "exit_group"]
    assert [re.sub("_64$|_time32$|^arm_|2$", "", name) for name in names] == wanted


@pytest.mark.parametrize("machine", CODES, ids="-".join)
@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        ([Open(200, "/nonexistent")], "openat"),
        ([Read(200, 0, 10)], "pread64"),
        ([Map(200, MAPPED, 0, PAGE)], "mmap"),
        ([Advise(200, Advice.RANDOM, 0, 0)], "fadvise64"),
    ],
)
def test_a_call_that_fails_ends_the_run_with_its_own_status(machine, broken, kind, tmp_path):
    done = run(machine, executable([*broken, Pause()], *machine), tmp_path)
    assert done.returncode == FAILED[kind]


def test_what_this_machine_executes_reads_these_bytes(tmp_path, file):
    machine = platform.machine()
    if code_of(machine, "little") is None:
        pytest.skip(f"this machine is {machine}: its runner was not executed")
    (tmp_path / "run").write_bytes(executable(steps(file), machine, "little", pause_ms=1))
    (tmp_path / "run").chmod(0o755)
    done = subprocess.run(
        ["strace", "-e", "pread64,fadvise64,madvise,mmap", tmp_path / "run"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"pread64\(200, .*, 5000, 74565\) += 5000", done.stderr)
    assert "fadvise64(200, 262144, 65536, POSIX_FADV_WILLNEED) = 0" in done.stderr
    assert "PROT_READ|PROT_EXEC, MAP_PRIVATE|MAP_FIXED, 201, 0x20000)" in done.stderr
    assert "131072, MADV_SEQUENTIAL) = 0" in done.stderr
    assert file.read_bytes() == bytes(range(256)) * 2048


def test_a_machine_without_code_is_named():
    with pytest.raises(RecordError, match="no program runner for sparc64") as caught:
        executable([], "sparc64", "big")
    assert "foreread predict CAPTURE --measured SWEEP" in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "found"), [("armv7l", "arm"), ("armv5tejl", "arm"), ("i686", "i386"), ("mips", "mips")]
)
def test_names_of_uname_lead_to_their_code(name, found):
    assert code_of(name, "little") is CODES[found, "little"]
