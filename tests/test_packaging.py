"""What is shipped: the packages with every file they load, and nothing of this machine."""

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from setuptools import Distribution

from foreread.version import VERSION

ROOT = Path(__file__).parents[1]
PACKAGES = ("analyzer", "boards", "emulator", "foreread", "tracer")
# What is for building and reading, not for running. Compiled files are added separately.
NOT_SHIPPED = {".c", ".h", ".md", ".so", ".pyc"}
SOURCES = {"slowdisk", "replayer"}  # that are compiled for a board


@pytest.fixture
def distribution(monkeypatch):
    monkeypatch.chdir(ROOT)
    result = Distribution({"script_name": "setup.py"})
    result.parse_config_files()
    result.finalize_options()
    return result


def test_every_file_of_the_packages_is_shipped(distribution):
    build = distribution.get_command_obj("build_py")
    build.ensure_finalized()
    shipped = {Path(path) for _, _, path in build.find_all_modules()}
    shipped |= {Path(folder, name) for _, folder, _, names in build.data_files for name in names}
    present = {
        path.relative_to(ROOT)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and (path.suffix not in NOT_SHIPPED or path.parent.name in SOURCES)
    }
    assert shipped == present


def test_only_the_packages_of_the_house_are_shipped(distribution):
    assert {name.partition(".")[0] for name in distribution.packages} == set(PACKAGES)


def test_version_is_that_of_the_module(distribution):
    assert distribution.metadata.version == VERSION


# --- slow: builds, installs and uses what is shipped ----------------------------------------


def run(*command: str | Path, **options) -> str:
    """Return what the command prints; fail with what it complained of."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Source archive, and the wheel built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """The wheel in a virtual environment of its own: the folder of its commands."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=True)
    pip = folder / "bin/pip"
    run(pip, "install", "-q", "--disable-pip-version-check", built[1])
    return folder / "bin"


@pytest.mark.package
def test_one_wheel_for_every_python_from_3_11(built):
    assert re.fullmatch(rf"foreread-{VERSION}-cp311-abi3-linux_\w+\.whl", built[1].name)


@pytest.mark.package
def test_wheel_names_no_path_of_the_building_machine(built, tmp_path):
    with zipfile.ZipFile(built[1]) as wheel:
        wheel.extractall(tmp_path)
    paths = [str(path).encode() for path in (ROOT, Path.home(), Path(sys.prefix), Path("/tmp/"))]
    extensions = list(tmp_path.rglob("*.so"))
    assert len(extensions) == 4
    for path in extensions:
        content = path.read_bytes()
        assert not [text for text in paths if text in content]
        dynamic = run("readelf", "-d", path)
        assert "RPATH" not in dynamic
        assert "RUNPATH" not in dynamic


@pytest.mark.package
def test_sdist_holds_every_file_of_the_repository(built):
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: the source archive was not compared with it")
    tracked = set(run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).splitlines())
    with tarfile.open(built[0]) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert tracked - packed <= {".gitignore"}


@pytest.mark.package
def test_the_wheel_installs_a_man_page_for_each_command(installed):
    pages = {path.name for path in (installed.parent / "share/man/man1").glob("foreread*.1")}
    assert pages == {path.name for path in (ROOT / "docs/man").iterdir()}


@pytest.mark.package
def test_installed_commands_work_away_from_the_checkout(installed, tmp_path):
    capture = ROOT / "tests/analyzer/ingest/data/ftrace/v7-zstd.trace.dat"
    foreread = installed / "foreread"
    options = {"cwd": tmp_path, "env": {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}}
    assert run(foreread, "--version", **options).split() == ["foreread", VERSION]
    prediction = json.loads(run(foreread, "predict", "--json", capture, **options))
    assert prediction["total"]["F"]
    run(foreread, "report", capture, "-o", "report", **options)
    run(foreread, "script", capture, "-o", "script", "--read-ahead-kb", "64", **options)
    run("sh", "-n", tmp_path / "script/foreread-apply")
    assert (tmp_path / "script/INSTALL.md").stat().st_size
    assert (tmp_path / "report/index.html").stat().st_size
    where = "import tracer.backends.supervised as s; print(s._HERE)"
    scripts = Path(run(installed / "python", "-c", where, **options).strip())
    assert {path.name for path in scripts.glob("*.sh")} == {"supervise.sh", "hold.sh"}
