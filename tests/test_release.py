"""The version is the same wherever it is written."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci/release.py"
VERSION = 'VERSION = "1.2.3"\n'
CHANGES = "# Changelog\n\n## 1.2.3 (2026-01-31)\n\n- New.\n\n## 1.2.2 (2025-01-01)\n"
DEBIAN = """foreread (1.2.3) unstable; urgency=medium

  * New.

 -- Somebody <somebody@example.org>  Sat, 31 Jan 2026 12:00:00 +0000
"""


def release(*words):
    return subprocess.run(
        [sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False
    )


@pytest.fixture
def tree(tmp_path):
    for name, text in {
        "foreread/version.py": VERSION,
        "CHANGELOG.md": CHANGES,
        "debian/changelog": DEBIAN,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def git(tree, *words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *words], cwd=tree, check=True, capture_output=True)


def test_version_and_changelogs_of_this_project_agree():
    done = release("check")
    assert done.returncode == 0, done.stdout


def test_versions_and_days_that_agree_pass(tree):
    done = release("check", tree)
    assert (done.returncode, done.stdout) == (0, "release 1.2.3: everything agrees\n")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("foreread/version.py", 'VERSION = "1.3"\n', "debian/changelog has 1.2.3, foreread/"),
        ("CHANGELOG.md", CHANGES.replace("1.2.3", "1.2.4"), "CHANGELOG.md has 1.2.4"),
        ("debian/changelog", DEBIAN.replace("1.2.3", "1.2.4"), "debian/changelog has 1.2.4"),
        ("CHANGELOG.md", CHANGES.replace("2026-01-31", "unreleased"), "no day of release"),
        ("debian/changelog", DEBIAN.replace("31 Jan", "30 Jan"), "days of release differ"),
        ("CHANGELOG.md", "# Changelog\n", "CHANGELOG.md has no heading"),
    ],
)
def test_each_disagreement_is_reported(tree, name, text, message):
    (tree / name).write_text(text)
    done = release("check", tree)
    assert done.returncode == 1
    assert message in done.stdout


def test_release_needs_an_annotated_tag_on_the_current_commit(tree):
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "one")
    assert "git tag -a v1.2.3" in release("tagged", tree).stdout
    git(tree, "tag", "v1.2.3")
    assert "not an annotated tag" in release("tagged", tree).stdout
    git(tree, "tag", "-d", "v1.2.3")
    git(tree, "tag", "-a", "-m", "1.2.3", "v1.2.3")
    assert release("tagged", tree).returncode == 0
    git(tree, "commit", "-qm", "two", "--allow-empty")
    done = release("tagged", tree)
    assert done.returncode == 1
    assert done.stdout.startswith("v1.2.3 is on ")


def test_day_of_an_unreleased_version_is_today(tree):
    assert release("date", tree).stdout == "2026-01-31\n"
    (tree / "CHANGELOG.md").write_text("## 1.2.3 (unreleased)\n")
    assert len(release("date", tree).stdout) == len("2026-01-31\n")
