"""The tables that a trace is turned into: each column declared once, with its meaning.

A :class:`Table` is a set of equally long numpy arrays under a :class:`Schema`; the user guide's
table of columns is made from the schemas below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from foreread.analyzer.error import AnalyzerError
from foreread.boards.base.document import encode

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Array = npt.NDArray[Any]

TEXT = "U"  # dtype of a column of text, of any length

_KEY_BITS = 64  # of the numbers that order_by sorts

MINOR_BITS = 20  # dev_t in the kernel: major << 20 | minor (include/linux/kdev_t.h)


class MissingLibrary(AnalyzerError, ImportError):
    """A library that a conversion needs is not installed."""


class Kind(IntEnum):
    """The meaning of an event. Values are stable: they are stored in decoded tables."""

    INSERT = 1  # filemap:mm_filemap_add_to_page_cache
    DELETE = 2  # filemap:mm_filemap_delete_from_page_cache
    FAULT = 3  # filemap:mm_filemap_fault
    GET_PAGES = 4  # filemap:mm_filemap_get_pages
    MAP_PAGES = 5  # filemap:mm_filemap_map_pages
    RA_UNBOUNDED = 6  # readahead:page_cache_ra_unbounded
    RA_SYNC = 7  # readahead:page_cache_sync_ra
    BIO_QUEUE = 8  # block:block_bio_queue
    RQ_ISSUE = 9  # block:block_rq_issue
    RQ_COMPLETE = 10  # block:block_rq_complete
    FORK = 11  # sched:sched_process_fork
    EXEC = 12  # sched:sched_process_exec
    EXIT = 13  # sched:sched_process_exit
    # Our probes on kernels without FAULT and GET_PAGES; probes.py converts them to these.
    PROBED_FAULT = 14  # foreread:file_fault
    PROBED_READ = 15  # foreread:file_read
    SWITCH = 16  # sched:sched_switch
    WAKING = 17  # sched:sched_waking, or sched_wakeup before 4.3


class Rwbs(IntFlag):
    """The letters of a block event's ``rwbs`` string (include/trace/events/block.h)."""

    READ = 1
    WRITE = 2
    AHEAD = 4  # A: readahead
    META = 8  # M: metadata
    SYNC = 16
    FLUSH = 32  # F
    DISCARD = 64
    OTHER = 128


@dataclass(frozen=True)
class Column:
    """One column: name, numpy dtype, unit and meaning."""

    name: str
    dtype: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Schema:
    """A table's name and its columns in order."""

    name: str
    columns: tuple[Column, ...]


EVENTS = Schema(
    "events",
    (
        Column("time_ns", "u8", "ns", "trace clock, from its zero"),
        Column("cpu", "u2", "", "CPU the event was recorded on"),
        Column("kind", "u1", "Kind", "what happened"),
        Column("pid", "i4", "", "kernel thread id of the current task (common_pid)"),
        Column("dev", "u4", "dev_t", "major << 20 | minor of the superblock or block device"),
        Column("ino", "u8", "", "inode number; 0 for block and sched events"),
        Column(
            "index",
            "u8",
            "pages",
            "page index in the file; block events: first sector; PROBED_READ: position in bytes; "
            "SWITCH: prev_state, as the kernel has it; WAKING: common_flags",
        ),
        Column(
            "value",
            "u8",
            "",
            "INSERT: folio order; GET_PAGES, MAP_PAGES: last page index, inclusive; "
            "RA_*: pages asked for; block: 512-byte sectors; FORK: child's thread id; "
            "EXEC: thread id before exec; PROBED_READ: bytes asked for; "
            "SWITCH: thread that goes on; WAKING: thread that is woken",
        ),
        Column("flags", "u2", "Rwbs", "block events: letters of rwbs; else 0"),
    ),
)

ACCESSES = Schema(
    "accesses",
    (
        Column("time_ns", "u8", "ns", "trace clock at first touch"),
        Column("pid", "i4", "", "thread that touched the page"),
        Column("file", "u4", "row", "row of the files table"),
        Column("page", "u8", "pages", "page index in the file"),
    ),
)

REQUESTS = Schema(
    "requests",
    (
        Column("issue_ns", "u8", "ns", "trace clock when the request went to the driver"),
        Column("complete_ns", "u8", "ns", "trace clock at completion; 0 if none was recorded"),
        Column(
            "pid",
            "i4",
            "",
            "thread that asked for it, or else issued it (a kernel worker)",
        ),
        Column("dev", "u4", "dev_t", "disk"),
        Column("sector", "u8", "512 B", "first sector"),
        Column("sectors", "u4", "512 B", "length"),
        Column("flags", "u2", "Rwbs", "letters of rwbs"),
        Column("bios", "u4", "", "bios that were merged into it, which a limiter counts"),
    ),
)

FILES = Schema(
    "files",
    (
        Column("dev", "u4", "dev_t", "superblock's device"),
        Column("ino", "u8", "", "inode number"),
        Column("size_bytes", "i8", "bytes", "size when the capture was made; -1 if unknown"),
        Column("accessed", "u8", "pages", "distinct pages the application accessed"),
    ),
)


class Table(Mapping[str, Array]):
    """Columns of equal length under a schema; ``table["page"]`` is one column.

    It goes on to pandas, polars and Arrow; a notebook shows it as an HTML table.
    """

    def __init__(self, schema: Schema, columns: Mapping[str, Array]) -> None:
        self.schema = schema
        lengths = set()
        self._columns: dict[str, Array] = {}
        for column in schema.columns:
            array = columns[column.name]
            is_text = column.dtype == TEXT
            fits = array.dtype.kind == TEXT if is_text else array.dtype == np.dtype(column.dtype)
            if not fits or array.ndim != 1:
                raise TypeError(
                    f"{schema.name}.{column.name}: expected one-dimensional {column.dtype}, "
                    f"got {array.ndim}-dimensional {array.dtype}"
                )
            lengths.add(len(array))
            self._columns[column.name] = array
        if len(lengths) > 1:
            raise ValueError(f"{schema.name}: columns differ in length: {sorted(lengths)}")
        self.rows = lengths.pop() if lengths else 0

    @classmethod
    def empty(cls, schema: Schema, rows: int = 0) -> Table:
        """Return a table of ``rows`` zeroed rows."""
        return cls(schema, {c.name: np.zeros(rows, c.dtype) for c in schema.columns})

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Return the number of columns (a mapping's length); rows are in ``rows``."""
        return len(self._columns)

    def __repr__(self) -> str:
        from foreread.analyzer.ingest.shown_table import text_of  # noqa: PLC0415  (few are shown)

        return text_of(self)

    def _repr_html_(self) -> str:
        from foreread.analyzer.ingest.shown_table import html_of  # noqa: PLC0415  (few are shown)

        return html_of(self)

    def take(self, selection: Array) -> Table:
        """Return the rows that a boolean mask or an index array selects."""
        if selection.dtype == np.bool_:
            # Once, not once a column; no row is outside, and the check takes as long as the copy.
            rows = np.flatnonzero(selection)
            columns = {name: array.take(rows, mode="clip") for name, array in self.items()}
        else:
            columns = {name: array.take(selection) for name, array in self.items()}
        return Table(self.schema, columns)

    def to_arrow(self) -> pyarrow.Table:
        """Return a pyarrow Table that shares the columns' memory; units are in its fields.

        Raises MissingLibrary without pyarrow.
        """
        arrow = _optional("pyarrow")
        fields = [
            arrow.field(
                column.name,
                arrow.string()
                if column.dtype == TEXT
                else arrow.from_numpy_dtype(np.dtype(column.dtype)),
                metadata={"unit": column.unit, "meaning": column.meaning},
            )
            for column in self.schema.columns
        ]
        return arrow.table([arrow.array(self[f.name]) for f in fields], arrow.schema(fields))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas DataFrame that shares the columns' memory.

        Raises MissingLibrary without pandas.
        """
        return _optional("pandas").DataFrame(dict(self), copy=False)

    def to_polars(self) -> polars.DataFrame:
        """Return a polars DataFrame that shares the columns' memory.

        Raises MissingLibrary without polars.
        """
        return _optional("polars").DataFrame(dict(self))

    def to_json(self) -> str:
        """Return the columns as JSON: a list by name, where an unknown number (NaN) is null."""
        return encode({name: _listed(array) for name, array in self.items()})


def of_kinds(events: Table, kinds: Iterable[Kind]) -> Array:
    """Return a mask of the events of these kinds; np.isin takes ten times as long."""
    return np.asarray(np.logical_or.reduce([events["kind"] == kind for kind in kinds]))


def sectors_of(values: Array) -> Array:
    """Return the sectors (u4) of block events' values: a bio's size has 32 bits, a trace any."""
    return np.minimum(values, 0xFFFFFFFF).astype(np.uint32)


def order_by(*keys: Array) -> Array:
    """Return the rows by the first of the integer ``keys``, then by the next; equal ones in order.

    numpy.lexsort does the same in ten times the time. Keys and row are one number here, if they fit
    into 64 bits; a first key that is too wide is replaced by the rank of its value.
    """
    rows = len(keys[0])
    if not rows:
        return np.zeros(0, np.int64)
    limits = [(int(key.min()), int(key.max())) for key in keys]
    bits = (rows - 1).bit_length()
    if sum((high - low).bit_length() for low, high in limits) + bits > _KEY_BITS:
        values = np.unique(keys[0])
        keys = (np.searchsorted(values, keys[0]), *keys[1:])
        limits[0] = 0, len(values) - 1
        if sum((high - low).bit_length() for low, high in limits) + bits > _KEY_BITS:
            return np.lexsort(keys[::-1])
    number = np.zeros(rows, np.uint64)
    for key, (low, high) in zip(keys, limits, strict=True):
        number <<= np.uint64((high - low).bit_length())
        number |= key.astype(np.uint64) - np.uint64(low % (1 << 64))
    number <<= np.uint64(bits)
    number |= np.arange(rows, dtype=np.uint64)
    number.sort()
    number &= np.uint64((1 << bits) - 1)
    return number.view(np.int64)


def _listed(array: Array) -> list[Any]:
    values: list[Any] = array.tolist()
    if array.dtype.kind != "f":
        return values
    return [None if math.isnan(value) else value for value in values]


def _optional(library: str) -> Any:
    """Return a library that foreread does not need by itself; raises MissingLibrary without it."""
    try:
        return import_module(library)
    except ImportError as error:
        extra = "arrow" if library == "pyarrow" else library
        raise MissingLibrary(
            f"{library} is not installed", f"pip install 'foreread[{extra}]'"
        ) from error
