"""Copies of a real capture with other metadata: captures of other boards, starts and days."""

from __future__ import annotations

import io
import json
import lzma
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "tests/foreread/data/riscv64-madplay/riscv64-madplay.capture.tar.xz"
LARGE = ROOT / "examples/python-start/python-start.capture.tar.xz"  # 51,919 events
METADATA = "capture.json"


class Original:
    """A packed capture, its metadata apart from the rest of the archive."""

    def __init__(self, archive: Path = SMALL) -> None:
        rest = io.BytesIO()
        with tarfile.open(archive) as source, tarfile.open(fileobj=rest, mode="w") as target:
            for member in source:
                content = source.extractfile(member) if member.isfile() else None
                if member.name.endswith(f"/{METADATA}"):
                    self._member = member
                    self.metadata: dict[str, Any] = json.load(content)
                else:
                    target.addfile(member, content)
        self._rest = lzma.compress(rest.getvalue(), preset=6)

    def write(self, path: Path, **changes: Any) -> Path:
        """Write a copy; changes of ``host`` are changes of the host's own fields."""
        host = self.metadata["host"] | changes.pop("host", {})
        text = json.dumps(self.metadata | changes | {"host": host}).encode()
        self._member.size = len(text)
        first = self._member.tobuf(tarfile.GNU_FORMAT) + text + bytes(-len(text) % 512)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(first, preset=1) + self._rest)
        return path


def day(number: int) -> str:
    """Return the time at which a recording of day ``number`` was made."""
    return (
        f"2026-{1 + number // 28 % 12:02}-{1 + number % 28:02}T08:{number // 336 % 60:02}:00+00:00"
    )


def copies(folder: Path, number: int, original: Path = SMALL, boards: int = 2) -> list[Path]:
    """Write captures of days, on boards in turn, in a folder for each board."""
    made, source = [], Original(original)
    for each in range(number):
        board = f"board-{each % boards}"
        path = folder / board / f"{each}.capture.tar.xz"
        made.append(source.write(path, created=day(each), host={"nodename": board}))
    return made


def damaged(folder: Path, names: Iterable[str] = ("damaged",)) -> list[Path]:
    """Write damaged files with the names of captures."""
    made = [folder / f"{name}.capture.tar.xz" for name in names]
    for path in made:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\xfd7zXZ\0damaged")
    return made
