"""Each folder's README lists what is there, and C files form no circles."""

import re
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("analyzer", "boards", "emulator", "foreread", "studies", "tracer")
CORES = (
    "analyzer/ingest/core",
    "analyzer/program/core",
    "emulator/core/fixed",
    "emulator/core/linux",
)
SOURCES = {".py", ".c", ".h", ".sh", ".toml", ".j2"}


def sources():
    """Files of the rooms, from the root."""
    found = (path for room in ROOMS for path in (ROOT / room).rglob("*"))
    return [path.relative_to(ROOT) for path in found if path.suffix in SOURCES]


def readme_of(path):
    """The README of a file's folder, or of the nearest one above it."""
    for folder in path.parents:
        if (ROOT / folder / "README.md").exists():
            return folder / "README.md"
    raise AssertionError(f"no README above {path}")


def is_named(path, readme):
    """Whether the README names the file, or its folder as a whole."""
    text = (ROOT / readme).read_text()
    relative = path.relative_to(readme.parent)
    whole = [f"`{folder}/" for folder in relative.parents if str(folder) != "."]
    pattern = f"{relative.parent}/*{path.suffix}"
    return path.name in text or pattern in text or any(folder in text for folder in whole)


def test_every_file_is_listed_in_the_nearest_readme():
    files = [path for path in sources() if path.name != "__init__.py"]
    assert len(files) > 300
    missing = [str(path) for path in files if not is_named(path, readme_of(path))]
    assert missing == []


def test_readmes_of_rooms_name_no_file_that_is_not_there():
    present = {path.name for path in sources()}
    for readme in {readme_of(path) for path in sources()}:
        for line in (ROOT / readme).read_text().splitlines():
            if match := re.match(r"\| `([\w./-]+\.(?:py|c|h|sh|toml))`", line):
                assert Path(match[1]).name in present, f"{readme}: {match[1]}"


@pytest.mark.parametrize("core", CORES)
def test_each_c_file_of_a_core_has_its_own_header(core):
    files = list((ROOT / core).glob("*.c"))
    assert files
    assert [file.name for file in files if not file.with_suffix(".h").exists()] == []


@pytest.mark.parametrize("core", CORES)
def test_c_files_of_a_core_and_their_headers_include_each_other_in_no_circle(core):
    includes = defaultdict(set)
    for file in (ROOT / core).glob("*.[ch]"):
        named = re.findall(r'^#include "([\w/]+)\.h"', file.read_text(), re.MULTILINE)
        includes[file.stem] |= set(named) - {file.stem}
    order = list(TopologicalSorter(includes).static_order())  # CycleError names the circle
    assert set(includes) <= set(order)
