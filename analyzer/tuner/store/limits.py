"""Limits of a TUNING file: more than any campaign, and less than exhausts memory.

A file may be hostile. Its rows and the values in their JSON are counted before they are parsed, so
that a file of the largest size needs less than 512 MiB.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TypeVar

import msgspec

from foreread.analyzer.error import AnalyzerError
from foreread.boards.base.document import shown

T = TypeVar("T")
LARGEST_BYTES = 128 << 20  # of the file with its log; 50,000 attempts with 40 figures have 90 MiB
MOST_ATTEMPTS = 50_000  # of a search, which ends then; at 2 s each more than a day
LONGEST_VALUE = 5 << 20  # bytes of a text; the schema's limit is 2^20 characters
# Rows by table. A search may get ten times as many chromosomes as it tries.
MOST_ROWS = {
    "boards": 16,
    "scenarios": 100,
    "chromosomes": 2 * MOST_ATTEMPTS,
    "campaign": 1,
    "evaluations": MOST_ATTEMPTS + 10_000,
    "generations": 10 * MOST_ATTEMPTS,
    "fingerprints": 1000,
    "top_genes": 1000,
}
_MOST_VALUES = 4_000_000  # in all JSON of a file
_NOT_OURS = "give a file of foreread tune"
_DAMAGED = "restore a copy of it, or start a new campaign"
# The last bytes of a journal that names another one (SQLite: pager.c, writeSuperJournal).
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")


class StoreError(AnalyzerError, ValueError):
    """A TUNING file that cannot be made, read or written; ``remedy`` says what to do."""


def check_files(path: Path) -> None:
    """Raise StoreError unless a file and SQLite's logs next to it are regular, and not too large.

    A journal that names a further one is refused, too: SQLite deletes the named file.
    """
    if not path.is_file():  # a pipe or device may never end
        what = "is not a file" if path.exists() else "does not exist"
        raise StoreError(f"{path} {what}", _NOT_OURS)
    place = path.resolve()  # where SQLite puts its logs
    total = 0
    for suffix in ("", "-wal", "-shm", "-journal"):
        file = place.with_name(place.name + suffix)
        try:
            status = file.lstat()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"{file}: {error.strerror}", "check its permissions") from error
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(f"{file} is not a regular file", _NOT_OURS)
        total += status.st_size
        if suffix == "-journal" and _names_another(file, status.st_size):
            raise StoreError(
                f"{file} is not a journal of foreread: it names another file", _NOT_OURS
            )
    if total > LARGEST_BYTES:
        raise StoreError(f"{path} is larger than a campaign can be", _NOT_OURS)


def _names_another(journal: Path, size: int) -> bool:
    try:
        file = journal.open("rb")
    except FileNotFoundError:
        return False  # a campaign has just committed, and SQLite removed its journal
    with file:
        file.seek(max(size - len(_NAMES_ANOTHER), 0))
        return file.read(len(_NAMES_ANOTHER)) == _NAMES_ANOTHER


class StoredJson:
    """Decodes the JSON columns of the file ``name``, up to a number of values in all."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._values = 0
        self._decoded: dict[tuple[str, object], object] = {}

    def read(self, text: str, kind: type[T]) -> T:
        """Return the values in a text; raises StoreError."""
        self._values += text.count(",") + 1
        if self._values > _MOST_VALUES:
            raise StoreError(f"{self._name} has more values than any campaign", _NOT_OURS)
        try:
            return msgspec.json.decode(text, type=kind)
        # UnicodeEncodeError: SQLite keeps surrogates that UTF-8 cannot encode.
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise StoreError(f"{self._name} is damaged: {shown(error)}", _DAMAGED) from error

    def shared(self, text: str, kind: type[T]) -> T:
        """Return the values in a text, the same for the same text: they must not be changed."""
        if (text, kind) not in self._decoded:
            self._decoded[text, kind] = self.read(text, kind)
        return self._decoded[text, kind]  # type: ignore[return-value]
