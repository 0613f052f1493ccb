"""The jobs of examples/ci: their steps that compare are run, with recorded captures."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from rings import further
from unpacked import unpack

from foreread.analyzer.suite.read import decode_suite

ROOT = Path(__file__).parents[1]
JOBS = ROOT / "examples/ci"
DATA = ROOT / "tests/foreread/data/suite"
GITHUB = yaml.safe_load((JOBS / "github.yml").read_text())
GITLAB = yaml.safe_load((JOBS / "gitlab.yml").read_text())["start-up"]
SUITE = (JOBS / "suite.toml").read_text()
CAPTURE = "captures/arm64/python-1"


def github_steps():
    steps = GITHUB["jobs"]["start-up"]["steps"]
    return {step["name"]: step["run"] for step in steps if "run" in step}


def scripts():
    """The steps after the recording, by system."""
    steps = github_steps()
    return {
        "github": [steps["Compare"], steps["Summary"]],
        "gitlab": [line for line in GITLAB["script"] if "foreread diff" in line],
    }


def run(folder, script, **environment):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def repository(tmp_path):
    """The repository of the guide, with captures of both builds where its suite names them."""
    for folder in (tmp_path / "baseline", tmp_path):
        (folder / "suite.toml").parent.mkdir(exist_ok=True)
        (folder / "suite.toml").write_text(SUITE)
        (folder / CAPTURE).parent.mkdir(parents=True)
        with_capture(folder, "arm64-python-1.capture")
    return tmp_path


def with_capture(folder, name):
    shutil.rmtree(folder / CAPTURE, ignore_errors=True)
    unpack(DATA / f"{name}.tar.xz", folder / "unpacked")
    shutil.move(folder / "unpacked" / name, folder / CAPTURE)


@pytest.mark.parametrize("system", further(["github", "gitlab"]))
def test_the_steps_that_compare_pass_for_the_same_build(system, repository):
    for script in scripts()[system]:
        done = run(repository, script, GITHUB_STEP_SUMMARY=str(repository / "summary.md"))
        assert done.returncode == 0, done.stderr
    assert "passed&#58; " in (repository / "start-up.md").read_text()
    (case,) = ElementTree.parse(repository / "start-up.xml").iter("testcase")
    assert case.find("failure") is None
    if system == "github":
        assert (repository / "summary.md").read_text() == (repository / "start-up.md").read_text()


@pytest.mark.parametrize("system", further(["gitlab", "github"]))
def test_the_step_that_compares_fails_for_a_slower_build_and_leaves_its_files(system, repository):
    """The disk of the new build's board costs twice as much."""
    slow = 'kind = "fixed"\nlatency_us = 2000\nns_per_kib = 100000\n'
    (repository / "slow.toml").write_text(slow)
    suite = SUITE.replace('target = "arm64"', 'target = "arm64"\ndevice_model = "slow.toml"')
    (repository / "suite.toml").write_text(suite)
    compare = scripts()[system][0]
    assert run(repository, compare).returncode == 1
    assert "regressed: " in (repository / "start-up.md").read_text().replace("&#58;", ":")
    (case,) = ElementTree.parse(repository / "start-up.xml").iter("testcase")
    assert case.find("failure") is not None


def test_the_suite_of_the_guide_is_one_and_both_jobs_record_it():
    (board,) = decode_suite(SUITE.encode(), Path("suite.toml")).boards
    assert [str(path) for path in board.cases[0].captures] == [CAPTURE]
    recorded = "foreread record --suite suite.toml"
    assert recorded in github_steps()["Record"]
    assert recorded in GITLAB["script"]
    for name in ("start-up.md", "start-up.xml", "captures"):
        assert name in GITHUB["jobs"]["start-up"]["steps"][-1]["with"]["path"].split()
    assert GITLAB["artifacts"]["reports"]["junit"] == "start-up.xml"


def test_every_step_is_shell_that_bash_parses():
    for script in [*github_steps().values(), *GITLAB["before_script"], *GITLAB["script"]]:
        done = subprocess.run(["bash", "-n", "-c", script], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
