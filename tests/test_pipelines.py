"""The jobs of examples/ci: their steps that compare are run, with recorded captures.

LAVA's steps are run with a stand-in for its ``lava-test-case``, which prints as LAVA's does.
"""

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
LAVA = yaml.safe_load((JOBS / "lava.yml").read_text())
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


@pytest.mark.thorough
@pytest.mark.parametrize("system", ["github", "gitlab"])
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
    lava = [*LAVA["install"]["steps"], *LAVA["run"]["steps"]]
    for script in [*github_steps().values(), *GITLAB["before_script"], *GITLAB["script"], *lava]:
        done = subprocess.run(["bash", "-n", "-c", script], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


# Only the two calls that foreread's files make: LAVA's own runs a shell command, or takes a result.
LAVA_TEST_CASE = """#!/bin/sh
case=$1
shift
if [ "$1" = --shell ]; then
    shift
    if (eval "$*"); then set -- --result pass; else set -- --result fail; fi
fi
echo "case $case $*"
"""


@pytest.fixture
def lava_test(tmp_path):
    """Run the steps that follow the recording as LAVA does, and return the calls by their id."""
    (tmp_path / "baseline").mkdir()
    (tmp_path / "lava-test-case").write_text(LAVA_TEST_CASE)
    (tmp_path / "lava-test-case").chmod(0o755)
    shutil.copy(DATA / "arm64-python-1.capture.tar.xz", tmp_path / "baseline/app.capture.tar.xz")

    def steps(capture):
        unpack(DATA / f"{capture}.tar.xz", tmp_path)
        (tmp_path / capture).rename(tmp_path / "app.capture")
        setting = [f"{name}='{value}'" for name, value in LAVA["params"].items()]
        compare = [step for step in LAVA["run"]["steps"] if "foreread record" not in step]
        script = "\n".join(["set -e", 'export PATH="$PWD:$PATH"', *setting, *compare])
        done = run(tmp_path, script)
        assert done.returncode == 0, done.stderr
        lines = [line.split() for line in done.stdout.splitlines() if line.startswith("case ")]
        return {case: words for _, case, *words in lines}

    return steps


def test_the_steps_of_the_lava_test_report_the_comparison_and_each_number(lava_test):
    found = lava_test("arm64-python-1.capture")
    assert found.pop("start-up") == ["--result", "pass"]
    (seconds,) = (words for case, words in found.items() if case.startswith("start_seconds-"))
    assert seconds[:5] == ["--result", "pass", "--units", "seconds", "--measurement"]
    assert 0 < float(seconds[5]) < 60
    assert len(found) == 5


@pytest.mark.thorough
def test_the_lava_test_fails_above_the_limit(lava_test, tmp_path):
    shutil.copy(DATA / "arm64-madplay-1.capture.tar.xz", tmp_path / "baseline/app.capture.tar.xz")
    found = lava_test("arm64-python-1.capture")
    failed = [case for case, words in found.items() if words[1] == "fail"]
    assert len(failed) == 2
    assert failed[0] == "start-up"
    assert failed[1].startswith("start_seconds-")


def test_lava_s_own_schema_takes_the_test_definition():
    code = """if True:
        import sys, yaml
        from lava_common.schemas.test.testdef import validate
        validate(yaml.safe_load(sys.stdin))
    """
    python = "/usr/bin/python3"  # has the module, which Debian packages
    words = [python, "-c", "import lava_common"]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("this machine has no lava-common: LAVA's schema did not see lava.yml")
    done = subprocess.run(
        [python, "-c", code], input=(JOBS / "lava.yml").read_text(), text=True, check=False
    )
    assert done.returncode == 0
