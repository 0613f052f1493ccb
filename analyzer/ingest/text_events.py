"""What the events of a text trace say after their names.

Print formats are those of include/trace/events/{filemap,readahead,block,sched}.h, Linux 3.10 to
6.19. What is printed otherwise (``trace-cmd report -R``, the trace option ``fields``, formats of
drafts and of later kernels) is read by the names of the fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

from foreread.analyzer.ingest.page_size import RANGE_KINDS
from foreread.analyzer.ingest.spec import EVENT_SPECS
from foreread.analyzer.ingest.tables import MINOR_BITS, Kind, Rwbs

_U32, _U64 = (1 << 32) - 1, (1 << 64) - 1
KINDS = {name.partition(":")[2].encode(): spec.kind for name, spec in EVENT_SPECS.items()}

_PAGE = re.compile(
    rb"dev[ =](\d{1,4}):(\d{1,7}) ino[ =](?:0x)?([0-9a-f]{1,16}) (?:.*?)\bofs=(\d{1,19})"
    rb"(?:-(\d{1,19}))?(?: order=(\d{1,2}))?\s*$"
)
_READAHEAD = re.compile(
    rb"dev=(\d{1,4}):(\d{1,7}) ino=([0-9a-f]{1,16}) index=(\d{1,19}) "
    rb"(?:nr_to_read|req_count)=(\d{1,19})\b"
)
_BLOCK = re.compile(
    rb"(?<!\S)(\d{1,4}),(\d{1,7}) ([A-Z]{0,16}) (?:(?:\d{1,10} )?\([^)]{0,256}\) )?"
    rb"(\d{1,19}) \+ (\d{1,10}) "
)
# Own probes (tracer/probes/definitions.py), as print_kprobe_event prints any.
_PROBED = re.compile(
    rb"\([^)\n]*\) file=\d+ ino=(\d{1,20}) dev=(\d{1,10}) (?:index|pos)=(\d{1,20})"
    rb"(?: count=(\d{1,20}))?\s*$"
)
_CHILD = re.compile(rb".*\bchild_pid=(\d{1,9})\s*$")
_OLD = re.compile(rb".*\bold_pid=(\d{1,9})\s*$")
# The kernel's own words, and those of trace-cmd's plugin (libtraceevent, plugin_sched_switch.c).
_SWITCH = re.compile(
    rb".*(?:\bprev_state=| \[-?\d{1,9}\] )([A-Za-z])[A-Za-z|+]{0,16} ==(?:>|&gt;) "
    rb".*(?:\bnext_pid=|:)(\d{1,9}) (?:next_prio=|\[)-?\d{1,9}\]?(?:\s|$)"
)
_WOKEN = re.compile(rb".*(?:\bpid=|:)(\d{1,9}) (?:prio=|\[)-?\d")
# The low bits of prev_state, which have meant the same in every kernel (fs/proc/array.c).
_STATES = {b"R": 0, b"S": 1, b"D": 2}
_OTHER_STATE = 4
# trace_print_lat_fmt, kernel/trace/trace_output.c: the third letter
_HARDIRQ, _SOFTIRQ = 8, 16
_CONTEXT = {"h": _HARDIRQ, "s": _SOFTIRQ, "H": _HARDIRQ | _SOFTIRQ, "z": _HARDIRQ, "Z": _HARDIRQ}
_RWBS = {
    "R": Rwbs.READ,
    "W": Rwbs.WRITE,
    "A": Rwbs.AHEAD,
    "M": Rwbs.META,
    "S": Rwbs.SYNC,
    "F": Rwbs.FLUSH,
    "D": Rwbs.DISCARD,
    "E": Rwbs.DISCARD,
}

# By name: devices as "8:1" or as a number, inodes always in hexadecimal where they are printed
# with the device's two numbers.
_DEV_PAIR = re.compile(rb"\bdev[ =](\d{1,4}):(\d{1,7})\b")
_INO_HEX = re.compile(rb"\bino[ =](?:0x)?([0-9a-f]{1,16})\b")
_INO_BARE = re.compile(rb"\bi_ino=([0-9a-f]{1,16})\b(?!x)")
_OFFSET = re.compile(rb"\bofs=(\d{1,19})(?:-(\d{1,19}))?\b(?!-)")
_LETTERS = re.compile(rb"\brwbs=([A-Z]{1,16})\b")

Fields = tuple[int, int, int, int, int, bool]  # dev, ino, index, value, flags, in bytes


def parse(kind: Kind, payload: bytes) -> Fields | None:
    """Return what an event says; None if it cannot be read.

    With ``in bytes`` true, the index of a page is a position in bytes, and so is the last page of
    a GET_PAGES or MAP_PAGES: any byte of it.
    """
    if payload.endswith((b"\\", b"\r", b"\\n")):  # systrace before 2014; CRLF
        payload = payload.rstrip(b"\r\\ \t").removesuffix(b"\\n")
    return _PARSERS[kind](payload) or _BY_NAME[kind](payload)


def window_in(payload: bytes) -> tuple[int, int] | None:
    """Return the device and the window (pages) of a readahead event; None if it has none."""
    dev, pages = _device(payload), _number(payload, "ra_pages")
    return None if dev is None or pages is None else (dev, pages)


@lru_cache(maxsize=1024)
def flags_of(rwbs: str) -> int:
    """Return the flags (Rwbs) of a block event's letters."""
    flags = Rwbs(0)
    for letter in rwbs:
        flags |= _RWBS.get(letter, Rwbs.OTHER)
    return int(flags)


def common_flags(context: bytes | None) -> int:
    """Return the interrupt state in a line's flag letters, in the format of common_flags."""
    if context and context.isdigit():  # verbose: common_flags itself
        return int(context) & (_HARDIRQ | _SOFTIRQ)
    return _CONTEXT.get(context[2:3].decode(errors="replace"), 0) if context else 0


def dev_of_pair(major: bytes, minor: bytes) -> int | None:
    """Return the dev_t, or None if there is no such number."""
    if int(major) >= 1 << 12 or int(minor) >> MINOR_BITS:
        return None
    return int(major) << MINOR_BITS | int(minor)


def _page(payload: bytes) -> Fields | None:
    match = _PAGE.match(payload)
    dev = dev_of_pair(match[1], match[2]) if match else None
    if match is None or dev is None:
        return None
    return dev, int(match[3], 16), int(match[4]), int(match[6] or 0), 0, True


def _range(payload: bytes) -> Fields | None:
    match = _PAGE.match(payload)
    dev = dev_of_pair(match[1], match[2]) if match else None
    if match is None or dev is None or not match[5]:
        return None
    return dev, int(match[3], 16), int(match[4]), int(match[5]), 0, True


def _readahead(payload: bytes) -> Fields | None:
    match = _READAHEAD.match(payload)
    dev = dev_of_pair(match[1], match[2]) if match else None
    if match is None or dev is None:
        return None
    return dev, int(match[3], 16), int(match[4]), int(match[5]), 0, False


def _block(payload: bytes) -> Fields | None:
    match = _BLOCK.search(payload)  # after addresses and symbols of perf script
    dev = dev_of_pair(match[1], match[2]) if match else None
    if match is None or dev is None:
        return None
    return dev, 0, int(match[4]), int(match[5]), flags_of(match[3].decode()), False


def _probed(payload: bytes) -> Fields | None:
    match = _PROBED.match(payload)
    if match is None:
        return None
    ino, dev, index, value = (int(number or 0) for number in match.groups())
    return _bounded(dev, ino, index, value)


def _thread(pattern: re.Pattern[bytes]) -> Callable[[bytes], Fields | None]:
    def parse(payload: bytes) -> Fields | None:
        match = pattern.match(payload)
        return (0, 0, 0, int(match[1]), 0, False) if match else None

    return parse


def _switch(payload: bytes) -> Fields | None:
    match = _SWITCH.match(payload)
    if match is None:
        return None
    return 0, 0, _STATES.get(match[1], _OTHER_STATE), int(match[2]), 0, False


_PARSERS: dict[Kind, Callable[[bytes], Fields | None]] = {
    **dict.fromkeys((Kind.INSERT, Kind.DELETE, Kind.FAULT), _page),
    **dict.fromkeys(RANGE_KINDS, _range),
    **dict.fromkeys((Kind.RA_UNBOUNDED, Kind.RA_SYNC), _readahead),
    **dict.fromkeys((Kind.BIO_QUEUE, Kind.RQ_ISSUE, Kind.RQ_COMPLETE), _block),
    Kind.FORK: _thread(_CHILD),
    Kind.EXEC: _thread(_OLD),
    **dict.fromkeys((Kind.PROBED_FAULT, Kind.PROBED_READ), _probed),
    Kind.SWITCH: _switch,
    Kind.WAKING: _thread(_WOKEN),
    Kind.EXIT: lambda _: (0, 0, 0, 0, 0, False),
}


@cache
def _numbered(name: str) -> re.Pattern[bytes]:
    """Return the pattern of the last field of a name: 0x2a, 42, 0x2a (42), or *(42)."""
    number = rb"(?:0x([0-9a-f]{1,16})|(\d{1,20})|[^ \n]{0,3}\((\d{1,20})\))"
    return re.compile(rb"(?:.*\W)?" + name.encode() + rb"=" + number + rb"(?:\s|$)")


def _number(payload: bytes, *names: str) -> int | None:
    """Return the number of the first of the fields that is there."""
    for name in names:
        match = _numbered(name).match(payload)
        if match is not None:
            return int(match[1], 16) if match[1] else int(match[2] or match[3])
    return None


def _device(payload: bytes) -> int | None:
    pair = _DEV_PAIR.search(payload)
    return dev_of_pair(pair[1], pair[2]) if pair else _number(payload, "s_dev", "dev")


def _inode(payload: bytes) -> int | None:
    """Return the inode number: where other numbers have 0x, trace-cmd prints it bare in hex."""
    match = _INO_HEX.search(payload)
    if match is None and b"=0x" in payload:
        match = _INO_BARE.search(payload)
    return int(match[1], 16) if match else _number(payload, "i_ino")


def _page_by_name(payload: bytes) -> Fields | None:
    dev, ino, at = _device(payload), _inode(payload), _OFFSET.search(payload)
    order = _number(payload, "order") or 0
    if dev is None or ino is None:
        return None
    if at is None:
        index = _number(payload, "index")
        return None if index is None else _bounded(dev, ino, index, order)
    return _bounded(dev, ino, int(at[1]), order, in_bytes=True)


def _range_by_name(payload: bytes, passed: int) -> Fields | None:
    """Read a range of pages; its max_ofs is ``passed`` bytes after a byte of the last page."""
    page, at = _page_by_name(payload), _OFFSET.search(payload)
    if page is None:
        return None
    dev, ino, index, *_, in_bytes = page
    last: int | None
    if at is None:
        last = _number(payload, "last_index")
    elif at[2]:
        last = int(at[2])
    else:
        last = _number(payload, "max_ofs", "last_ofs")
        last = None if last is None else max(last - passed, index)
    return None if last is None else _bounded(dev, ino, index, last, in_bytes=in_bytes)


def _readahead_by_name(payload: bytes) -> Fields | None:
    dev, ino = _device(payload), _inode(payload)
    index, value = _number(payload, "index"), _number(payload, "nr_to_read", "req_count")
    if dev is None or ino is None or index is None or value is None:
        return None
    return _bounded(dev, ino, index, value)


def _block_by_name(payload: bytes) -> Fields | None:
    dev, sector, sectors = (_number(payload, name) for name in ("dev", "sector", "nr_sector"))
    letters = _LETTERS.search(payload)
    if dev is None or sector is None or sectors is None or letters is None:
        return None
    return _bounded(dev, 0, sector, sectors, flags_of(letters[1].decode()))


def _probed_by_name(payload: bytes) -> Fields | None:
    dev, ino = _number(payload, "dev"), _number(payload, "ino")
    index = _number(payload, "index", "pos")
    if dev is None or ino is None or index is None:
        return None
    return _bounded(dev, ino, index, _number(payload, "count") or 0)


def _thread_by_name(name: str) -> Callable[[bytes], Fields | None]:
    def parse(payload: bytes) -> Fields | None:
        thread = _number(payload, name)
        return None if thread is None else _bounded(0, 0, 0, thread)

    return parse


def _switch_by_name(payload: bytes) -> Fields | None:
    state, thread = _number(payload, "prev_state"), _number(payload, "next_pid")
    return None if state is None or thread is None else _bounded(0, 0, state, thread)


def _bounded(
    dev: int, ino: int, index: int, value: int, flags: int = 0, in_bytes: bool = False
) -> Fields | None:
    """Return the fields if they fit into their columns."""
    if dev > _U32 or max(ino, index, value) > _U64:
        return None
    return dev, ino, index, value, flags, in_bytes


_BY_NAME: dict[Kind, Callable[[bytes], Fields | None]] = {
    **dict.fromkeys((Kind.INSERT, Kind.DELETE, Kind.FAULT), _page_by_name),
    # Drafts of June 2024: max_ofs is the last page's in map_pages, the next page's in get_pages.
    Kind.GET_PAGES: lambda payload: _range_by_name(payload, passed=1),
    Kind.MAP_PAGES: lambda payload: _range_by_name(payload, passed=0),
    **dict.fromkeys((Kind.RA_UNBOUNDED, Kind.RA_SYNC), _readahead_by_name),
    **dict.fromkeys((Kind.BIO_QUEUE, Kind.RQ_ISSUE, Kind.RQ_COMPLETE), _block_by_name),
    Kind.FORK: _thread_by_name("child_pid"),
    Kind.EXEC: _thread_by_name("old_pid"),
    **dict.fromkeys((Kind.PROBED_FAULT, Kind.PROBED_READ), _probed_by_name),
    Kind.SWITCH: _switch_by_name,
    Kind.WAKING: _thread_by_name("pid"),
    Kind.EXIT: lambda _: (0, 0, 0, 0, 0, False),
}
