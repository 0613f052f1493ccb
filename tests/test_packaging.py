"""What is shipped: the packages with every file that they load (built: tests/package)."""

from pathlib import Path

import pytest
from setuptools import Distribution

ROOT = Path(__file__).parents[1]
ROOMS = ("analyzer", "boards", "emulator", "tracer")  # packages of foreread, by links
# What is for building and reading, not for running. Compiled files are added separately.
REFERENCES = {
    Path("foreread/analyzer/reference"),
    Path("foreread/emulator/reference"),
}  # for tests alone
NOT_SHIPPED = {".c", ".h", ".md", ".so", ".pyc"}
SOURCES = {"slowdisk", "replayer", "shim"}  # that are compiled for a board


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
    folders = [ROOT / "foreread", *(ROOT / "foreread" / room for room in ROOMS)]
    present = {
        path.relative_to(ROOT)
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and (path.suffix not in NOT_SHIPPED or path.parent.name in SOURCES)
        if path.parent.relative_to(ROOT) not in REFERENCES
    }
    assert shipped == present


def test_only_the_packages_of_the_house_are_shipped(distribution):
    assert {name.partition(".")[0] for name in distribution.packages} == {"foreread"}
