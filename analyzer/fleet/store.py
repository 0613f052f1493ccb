"""The store: Parquet files by board and start, each put whole, and the schema's number.

::

    STORE/
      foreread-store.json                        schema of the store
      rows/board=BOARD/start=START/NAME.parquet  the rows of some captures of one batch

A file has all rows of its captures: it is there or not, and so are they. Nothing is ever changed or
removed. The name is a digest of the captures' keys.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foreread.analyzer.fleet.batch import Analysed
from foreread.analyzer.fleet.error import FleetError, extra
from foreread.analyzer.fleet.known import KnownKeys
from foreread.analyzer.fleet.names import SLUG, digest
from foreread.analyzer.fleet.place import Place, is_far, open_place, unreachable
from foreread.analyzer.fleet.rows import COLUMNS
from foreread.boards.base.document import DocumentError, parse, shown
from foreread.boards.base.scratch import scratch_folder

MARKER = "foreread-store.json"
ROWS = "rows"
SCHEMA = 1
_MEMORY = "256MB"  # DuckDB's; what needs more goes to a temporary folder
_KEYS_AT_ONCE = 10_000
_MOST_MARKER_BYTES = 1 << 16


@dataclass(frozen=True)
class Store:
    """A store that was found, or made."""

    place: Place

    def known(self) -> KnownKeys:
        """Return the keys and the source keys of all captures."""
        keys = KnownKeys()
        if not self.has_rows():
            return keys
        with self.database() as database:
            cursor = database.execute(
                f"SELECT key, source_key FROM {self.rows_sql()} WHERE row = 'capture'"
            )
            while some := cursor.fetchmany(_KEYS_AT_ONCE):
                keys.add(key for pair in some for key in pair)
        return keys

    def has_rows(self) -> bool:
        """Return whether a file of rows is there."""
        return next(_parquets(self.place, f"{self.place.path}/{ROWS}"), None) is not None

    def rows_sql(self) -> str:
        """Return what DuckDB reads all rows from, as SQL."""
        return rows_sql(self.place.url())

    @contextmanager
    def database(self) -> Iterator[Any]:
        """Yield a DuckDB connection that reads the store in bounded memory."""
        duckdb = extra("duckdb")
        with scratch_folder("duckdb") as folder:
            settings = {"memory_limit": _MEMORY, "temp_directory": folder, "threads": 2}
            settings |= {"preserve_insertion_order": False, "autoinstall_known_extensions": False}
            with duckdb.connect(config=settings) as database:
                if not self.place.is_local:
                    database.register_filesystem(self.place.fs)
                try:
                    yield database
                except duckdb.Error as error:
                    raise FleetError(
                        f"{self.place.address}: {shown(error)}",
                        "remove the damaged file, and analyse its captures again",
                    ) from error

    def write(self, analysed: Sequence[Analysed]) -> None:
        """Add captures: one file for each partition, each put whole; raises FleetError."""
        partitions: dict[tuple[str, str], list[Analysed]] = {}
        for analysis in analysed:
            partitions.setdefault((analysis.rows.board, analysis.rows.start), []).append(analysis)
        for (board, start), captures in partitions.items():
            if not SLUG.fullmatch(board) or not SLUG.fullmatch(start):
                raise FleetError(
                    f"a worker returned an invalid partition: {board!r}, {start!r}",
                    "use workers of this foreread only",
                )
            name = digest(*(analysis.key for analysis in captures))
            path = f"{self.place.path}/{ROWS}/board={board}/start={start}/{name}.parquet"
            try:
                self._put(captures, path)
            except Exception as error:
                if not is_far(error):
                    raise
                raise unreachable(self.place.address, error) from error

    def _put(self, captures: Sequence[Analysed], path: str) -> None:
        if self.place.is_local:
            part = Path(f"{path}.{os.getpid()}.part")
            part.parent.mkdir(parents=True, exist_ok=True)
            try:
                _write_parquet(captures, part)
                _sync(part)
                part.replace(path)
            finally:
                with suppress(OSError):
                    part.unlink(missing_ok=True)
            return
        with scratch_folder("rows") as folder:
            copy = Path(folder) / "rows.parquet"
            _write_parquet(captures, copy)
            self.place.fs.pipe_file(path, copy.read_bytes())  # objects appear whole


def rows_sql(address: str) -> str:
    """Return what DuckDB reads the rows of the store at an address from, as SQL."""
    pattern = f"{escaped_glob(address)}/{ROWS}/*/*/*.parquet".replace("'", "''")
    return (
        f"read_parquet('{pattern}', hive_partitioning = true, "
        "hive_types = {'board': VARCHAR, 'start': VARCHAR})"
    )


def escaped_glob(path: str) -> str:
    """Return a path in which ``*``, ``?`` and ``[`` stand for themselves."""
    return re.sub(r"([*?\[])", r"[\1]", path)


def open_store(address: str, create: bool = False) -> Store:
    """Return the store at an address, made with ``create`` if nothing is there.

    Raises FleetError for a place that is not a store, or one of another schema.
    """
    place = open_place(address)
    marker = f"{place.path}/{MARKER}"
    try:
        content = _read(place, marker)
        if content is None and create:
            _check_empty(place)
            content = json.dumps({"schema": SCHEMA}).encode() + b"\n"
            place.fs.makedirs(place.path, exist_ok=True)
            place.fs.pipe_file(marker, content)
    except FleetError:
        raise
    except Exception as error:
        if not is_far(error):
            raise
        raise unreachable(address, error) from error
    if content is None:
        raise FleetError(
            f"{address} is not a store: {MARKER} is missing",
            f"make one with foreread fleet analyse SRC -o {address}",
        )
    _check_schema(address, content)
    return Store(place)


def _check_empty(place: Place) -> None:
    with suppress(FileNotFoundError):
        if any(item["name"].rstrip("/") != place.path for item in place.fs.ls(place.path, True)):
            raise FleetError(
                f"{place.address} has other files, and is not a store",
                "give another place, or a new folder, with -o",
            )


def _check_schema(address: str, text: bytes) -> None:
    try:
        schema = parse(text)["schema"]
    except (DocumentError, KeyError, TypeError) as error:
        raise FleetError(
            f"{address}: {MARKER} is damaged: {shown(error)}",
            f'write {{"schema": {SCHEMA}}} into it if this is a store',
        ) from error
    if schema != SCHEMA:
        raise FleetError(
            f"{address} has schema {schema!r} of a store, this foreread reads {SCHEMA}",
            "update foreread, or give another store",
        )


def _read(place: Place, path: str) -> bytes | None:
    try:
        with place.fs.open(path, "rb") as file:
            read: bytes = file.read(_MOST_MARKER_BYTES)
            return read
    except FileNotFoundError:
        return None


def _write_parquet(captures: Sequence[Analysed], path: Path) -> None:
    """Write the rows by DuckDB, which reads them as JSON: texts are values, never SQL."""
    duckdb = extra("duckdb")
    columns = ", ".join(f"{column.name}: '{column.kind}'" for column in COLUMNS)
    with scratch_folder("rows") as folder:
        lines = Path(folder) / "rows.json"
        with lines.open("w") as file:
            for capture in captures:
                file.writelines(json.dumps(row) + "\n" for row in capture.rows.rows)
        with duckdb.connect(config={"threads": 1, "memory_limit": _MEMORY}) as database:
            database.execute(
                f"COPY (SELECT * FROM read_json('{lines}', format = 'newline_delimited', "
                f"columns = {{{columns}}})) TO $path (FORMAT parquet, COMPRESSION zstd)".replace(
                    "$path", "'" + str(path).replace("'", "''") + "'"
                )
            )


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _parquets(place: Place, path: str, depth: int = 3) -> Iterator[str]:
    """Yield the files of rows, as they are listed."""
    try:
        listed = place.fs.ls(path, detail=True)
    except FileNotFoundError:
        return
    for item in listed:
        name = item["name"].rstrip("/")
        if item["type"] == "directory" and depth:
            yield from _parquets(place, name, depth - 1)
        elif name.endswith(".parquet"):
            yield name
