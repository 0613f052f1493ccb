"""Each folder's README lists what is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("analyzer", "boards", "emulator", "foreread", "studies", "tracer")
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
