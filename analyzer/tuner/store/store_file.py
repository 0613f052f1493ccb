"""The TUNING file as a file: created atomically, opened by one writer, and checked before use.

SQLite in WAL mode with full syncing: commits survive a kill and a power cut, and a report can be
read during a campaign. A closed store is a single file.
"""

from __future__ import annotations

import fcntl
import math
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from foreread.analyzer.tuner.store.limits import (
    LARGEST_BYTES,
    LONGEST_VALUE,
    MOST_ROWS,
    StoreError,
    check_files,
)
from foreread.analyzer.tuner.store.schema import APPLICATION_ID, SCHEMA, VERSION
from foreread.boards.base.apart import apart
from foreread.boards.base.bounded import UnboundedError, open_regular

__all__ = [
    "StoreError",
    "is_store",
    "new_memory",
    "open_to_read",
    "open_to_write",
    "write_new",
]
_MAGIC = b"SQLite format 3\0"  # https://www.sqlite.org/fileformat.html, 1.3
_OLDEST_SQLITE = (3, 37, 0)  # the first with STRICT tables
_NOT_OURS = "give a file of foreread tune"
_DAMAGED = "restore a copy of it, or start a new campaign"
_BUSY_S = 30.0  # maximum wait of a reader and the writer for each other
_written: set[tuple[int, int]] = set()  # device and inode of the stores this process writes to


def new_memory() -> sqlite3.Connection:
    """Return an empty store that exists as long as its connection."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} is too old for a store",
            "use a Python with SQLite 3.37 or later",
        )
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(SCHEMA)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def write_new(path: Path, image: bytes) -> None:
    """Make the file ``path`` of ``image``, whole or not at all; never over another file."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            file.write(image)
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(part)  # in place of a rename, which would replace
    except OSError as error:
        if os.path.lexists(path):
            remedy = "give another name with -o, or continue it with --resume"
            raise StoreError(f"{path} exists already", remedy) from error
        raise StoreError(f"{path} cannot be made: {error.strerror}", "write elsewhere") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def is_store(path: Path) -> bool:
    """Return whether ``path`` looks like a TUNING file; only opening it checks the rest."""
    try:
        return apart(partial(_begins_as_sqlite, path))
    except (OSError, UnboundedError):
        return False


def _begins_as_sqlite(path: Path) -> bool:
    with open_regular(path) as file:
        return file.read(len(_MAGIC)) == _MAGIC


def open_to_write(path: Path) -> tuple[sqlite3.Connection, int]:
    """Return a checked connection and the lock that keeps other writers out."""
    check_files(path)
    lock = _lock(path)
    with ExitStack() as undo:
        undo.callback(_unlock, lock)
        with refused(path, "read"):
            connection = undo.enter_context(closing(_connect(path)))
            _check(connection, path)
        with refused(path, "written"):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        undo.pop_all()
    return connection, lock


def open_to_read(path: Path) -> sqlite3.Connection:
    """Return a checked copy in memory of the committed state.

    A copy, since SQLite skips CHECKs on a read-only file.
    """
    check_files(path)
    with ExitStack() as undo, refused(path, "read"):
        copy = undo.enter_context(closing(sqlite3.connect(":memory:", isolation_level=None)))
        with closing(_connect(path)) as connection:
            _check_size(connection, path)
            connection.backup(copy)
        copy.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        _check(copy, path)
        undo.pop_all()
    return copy


def close(connection: sqlite3.Connection, lock: int | None) -> None:
    """Close a connection; a writer's leaves one plain file if there is room and no reader."""
    if lock is None:
        connection.close()
        return
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    _unlock(lock)  # after SQLite's own: closing any descriptor of a file drops its POSIX locks


@contextmanager
def refused(path: Path | str, done: str) -> Iterator[None]:
    """Convert SQLite's exceptions to StoreErrors; ``done`` names the failed operation."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "decode" in str(error):  # Python's own error for text that is not UTF-8
            raise StoreError(f"{path} is damaged: a text is not UTF-8", _DAMAGED) from error
        remedy = (
            f"check the free space and the permissions of {path}, then repeat the command "
            "line with --resume"
        )
        raise StoreError(f"{path} cannot be {done}: {error}", remedy) from error
    except (sqlite3.IntegrityError, OverflowError, UnicodeError) as error:
        remedy = "give what is within the range, and text that is UTF-8"
        raise StoreError(f"{path} cannot be {done}: {error}", remedy) from error
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} cannot be {done}: {error}", _DAMAGED) from error


def _lock(path: Path) -> int:
    """Return a descriptor that holds the store; the kernel releases it when the process ends.

    Uses flock, which on Linux is independent of SQLite's locks (fcntl). A store that this process
    writes to is refused before it is opened: closing it would drop those locks.
    """
    try:
        if _identity(path.stat()) in _written:
            raise _in_use(path)
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be opened: {error.strerror}", "check its permissions"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise _in_use(path) from error
    _written.add(_identity(os.fstat(lock)))
    return lock


def _unlock(lock: int) -> None:
    _written.discard(_identity(os.fstat(lock)))
    os.close(lock)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _in_use(path: Path) -> StoreError:
    message = f"{path} is in use by another campaign"
    return StoreError(message, "wait until it has ended, or stop it")


def _connect(path: Path) -> sqlite3.Connection:
    """Return a connection that can write if the file is writable.

    Also for reading: after a kill the next opener rolls back or completes the last transaction.
    """
    uri = f"file:{quote(os.fsencode(path.absolute()))}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_S)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError unless the file is a sound store of this schema, and nothing else."""
    _check_size(connection, path)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA foreign_keys = ON")
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise StoreError(f"{path} is not a TUNING file", _NOT_OURS)
    version = _pragma(connection, "user_version")
    if version != VERSION:
        message = f"{path} has schema {version}, this foreread reads {VERSION}"
        raise StoreError(message, "use the version of foreread that wrote it")
    if _tables(connection) != _tables(new_memory()):
        raise StoreError(f"{path} has tables that foreread did not create", _NOT_OURS)
    for check in ("integrity_check(1)", "foreign_key_check"):
        problem = connection.execute(f"PRAGMA {check}").fetchone()
        if problem is not None and problem != ("ok",):
            raise StoreError(f"{path} is damaged: {' '.join(map(str, problem))}", _DAMAGED)
    for table, most in MOST_ROWS.items():
        rows = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        if rows > most:
            message = f"{path} has {rows} rows of {table}, more than any campaign"
            raise StoreError(message, _NOT_OURS)


def _check_size(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError if the file is too large with the pages in its log."""
    size = [_pragma(connection, name) for name in ("page_count", "page_size")]
    if not all(isinstance(number, int) for number in size) or math.prod(size) > LARGEST_BYTES:
        raise StoreError(f"{path} is larger than a campaign can be", _NOT_OURS)


def _pragma(connection: sqlite3.Connection, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def _tables(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    return connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()
