"""Every input with which fuzzing found a fault in the C cores, read again under ASan and UBSan."""

import subprocess
import sys
from pathlib import Path

import pytest
from waiting import left_s

pytestmark = pytest.mark.thorough  # it builds the cores with sanitizers; fuzzing is thorough, too
ROOT = Path(__file__).resolve().parent.parent
FINDINGS = ROOT / "fuzz/findings"
CORE = ROOT / "analyzer/ingest/core"
SANITIZED = ["-std=c11", "-g", "-O1", "-fsanitize=address,undefined"]
STRICT = "-fno-sanitize-recover=undefined"


def _flags():
    command = ["pkg-config", "--cflags", "--libs", "libtraceevent", "zlib", "libzstd"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def _build(program, name, core, *flags):
    """Build a fuzz target with a main() that reads files."""
    sources = [ROOT / "fuzz/run_findings.c", ROOT / f"fuzz/fuzz_{name}.c", *core.glob("*.c")]
    command = ["gcc", *SANITIZED, STRICT, *sources, *flags, "-o", program]
    subprocess.run(command, check=True)
    return program


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    program = tmp_path_factory.mktemp("findings") / "specs"
    return _build(program, "specs", CORE, f"-I{CORE}", *_flags())


@pytest.mark.parametrize(
    "finding", sorted((FINDINGS / "specs").iterdir()), ids=lambda one: one.name
)
def test_a_finding_is_read_without_a_fault(target, finding):
    run = subprocess.run(
        [target, finding], check=False, capture_output=True, text=True, timeout=left_s()
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, f"{finding}\n", "")


def test_the_program_that_reads_findings_fails_without_a_file(target, tmp_path):
    run = subprocess.run([target, tmp_path / "absent"], check=False, capture_output=True, text=True)
    assert run.returncode == 1
    assert "No such file" in run.stderr


def test_the_kernel_model_replays_seeds_and_findings_without_a_fault(tmp_path):
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    subprocess.run([sys.executable, "fuzz/seeds.py", "linux", seeds], cwd=ROOT, check=True,
                   env={"PYTHONPATH": str(ROOT)})  # fmt: skip
    emulator = [f"-I{ROOT / 'emulator'}", "-DLX_MOST_BYTES=67108864", "-lm"]
    program = _build(tmp_path / "linux", "linux", ROOT / "emulator/core/linux", *emulator)
    found = [*sorted(seeds.iterdir()), *sorted((FINDINGS / "linux").iterdir())]
    run = subprocess.run([program, *found], check=False, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert len(run.stdout.splitlines()) == len(found) > 100
