"""Every input with which fuzzing found a fault in the C cores, read again under ASan and UBSan."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FINDINGS = ROOT / "fuzz/findings"
CORE = ROOT / "analyzer/ingest/core"
SANITIZED = ["-std=c11", "-g", "-O1", "-fsanitize=address,undefined"]
STRICT = "-fno-sanitize-recover=undefined"


def _flags():
    command = ["pkg-config", "--cflags", "--libs", "libtraceevent", "zlib", "libzstd"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    """Build fuzz_specs.c with a main() that reads files."""
    program = tmp_path_factory.mktemp("findings") / "specs"
    sources = [ROOT / "fuzz/run_findings.c", ROOT / "fuzz/fuzz_specs.c", *CORE.glob("*.c")]
    command = ["gcc", *SANITIZED, STRICT, f"-I{CORE}", *sources, *_flags(), "-o", program]
    subprocess.run(command, check=True)
    return program


@pytest.mark.parametrize(
    "finding", sorted((FINDINGS / "specs").iterdir()), ids=lambda one: one.name
)
def test_a_finding_is_read_without_a_fault(target, finding):
    run = subprocess.run([target, finding], check=False, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (0, f"{finding}\n", "")


def test_the_program_that_reads_findings_fails_without_a_file(target, tmp_path):
    run = subprocess.run([target, tmp_path / "absent"], check=False, capture_output=True, text=True)
    assert run.returncode == 1
    assert "No such file" in run.stderr
