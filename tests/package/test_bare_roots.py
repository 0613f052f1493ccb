"""The wheel and the Debian package, installed and used where nothing else is."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from bare_roots import ROOT, run_ci

from docs.tools import man
from docs.tools.json_schemas import schemas
from foreread.version import VERSION

HERE = Path(__file__).parent
EXAMPLE = ROOT / "examples/python-start"
READ_AT_RUN_TIME = (".sh", ".toml", ".j2", ".css", ".service", ".swap", ".typed", ".pyi")

INSTALLED = ("analyzer/", "boards/", "emulator/", "foreread/", "tracer/")

pytestmark = pytest.mark.package


def use(package: Path, release: str, root_has: str, folder: Path) -> Path:
    """Install and use ``package`` in a bare root of ``release``; return the folder of results."""
    for file in (package, HERE / "use.sh", HERE / "look.py", *EXAMPLE.glob("python-start.*")):
        shutil.copy(file, folder)
    run_ci("bare", release, root_has, folder, "sh", "use.sh", package.name)
    return folder / "out"


def document(out: Path, name: str):
    return json.loads((out / f"{name}.json").read_text())


def check_use(out: Path, place: str) -> None:
    """Check what use.sh left."""
    assert (out / "version").read_text().split() == ["foreread", VERSION]
    seen = document(out, "look")
    assert (seen["version"], seen["from"].startswith(place)) == (VERSION, True)
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    wanted = {
        name if name.startswith("foreread/") else f"foreread/{name}"
        for name in tracked.stdout.split()
        if name.startswith(INSTALLED) and name.endswith(READ_AT_RUN_TIME)
    }
    assert len(wanted) > 60
    assert wanted - set(seen["files"]) == set()
    assert {"foreread.tracer.remote.record", "foreread.tracer.remote.watch"} <= set(
        seen["programs"]
    )
    assert min(seen["programs"].values()) > 1000
    assert set(seen["modules_without"].values()) <= {"optuna", "rich", "serial"}
    pages = {Path(line).name.removesuffix(".gz") for line in (out / "manual").read_text().split()}
    assert pages == set(man.pages())
    described = {Path(line).stem for line in (out / "schemas").read_text().split()}
    assert described == set(schemas())
    assert document(out, "doctor")["schema"]
    check_answers(out)


def check_answers(out: Path) -> None:
    """Check what the commands computed."""
    # The README of the example has the same figures.
    verdict = document(out, "predict")["verdict"]
    assert (verdict["action"], verdict["read_ahead_kb"]) == ("set", 32)
    assert document(out, "own")["total"]["F"]
    report = (out / "report/index.html").read_text()
    assert "python-start" in report
    assert list((out / "report").glob("*.pdf"))
    assert "read_ahead_kb" in (out / "boot/foreread-apply").read_text()
    assert "foreread" in (out / "completion").read_text()


@pytest.mark.parametrize("release", ["bookworm", "trixie", "forky"])
def test_wheel_does_the_main_job_without_a_compiler(built, release, tmp_path):
    out = use(built.wheel, release, "python3,python3-venv", tmp_path)
    check_use(out, "/opt/foreread/")


@pytest.mark.parametrize("release", ["trixie", "forky"])
def test_debian_package_does_the_main_job(debian_package, release, tmp_path):
    out = use(debian_package, release, "python3,python3-venv", tmp_path)
    check_use(out, "/usr/lib/python3/dist-packages/")


def test_wheel_of_the_other_machine_predicts_there(emulated, architectures, tmp_path):
    machine = {"arm64": "aarch64", "amd64": "x86_64"}[architectures[1]]
    assert emulated.wheel.name.endswith(f"_{machine}.whl")
    for file in (emulated.wheel, *EXAMPLE.glob("python-start.capture.*")):
        shutil.copy(file, tmp_path)
    commands = f"""
test "$(uname -m)" = {machine}
python3 -m venv /opt/foreread
/opt/foreread/bin/pip install -q --only-binary :all: ./{emulated.wheel.name}
mkdir out
/opt/foreread/bin/foreread predict --json python-start.capture.tar.xz >out/predict.json
"""
    release = f"bookworm:{architectures[1]}"
    run_ci("bare", release, "python3,python3-venv", tmp_path, "sh", "-euc", commands)
    verdict = document(tmp_path / "out", "predict")["verdict"]
    assert (verdict["action"], verdict["read_ahead_kb"]) == ("set", 32)
