"""Event formats of an exported trace.dat: the kernel's formats that foreread can fill, and its own.

The kernel's print formats: include/trace/events/{filemap,block,sched}.h, Linux 6.18. A field
without a value in any table is left out; where viewers need it, it is 0 (priorities) or "?"
(names).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_COMMON = (
    ("unsigned short common_type", "H"),
    ("unsigned char common_flags", "B"),
    ("unsigned char common_preempt_count", "B"),
    ("int common_pid", "i"),
)
_SIGNED = "bhiq"


@dataclass(frozen=True)
class Format:
    """One event: fields as (declaration, struct code), and its print format.

    ``named`` adds a string of any length at the end (``name``).
    """

    number: int
    system: str
    name: str
    fields: tuple[tuple[str, str], ...]
    print_fmt: str
    named: bool = False

    def pack(self, pid: int, *values: int | bytes, name: bytes = b"") -> bytes:
        """Return the data of an event of thread ``pid``."""
        fixed = struct.pack(self._codes(), self.number, 0, 0, pid, *values)
        if not self.named:
            return fixed
        return fixed + struct.pack("<I", len(name) << 16 | len(fixed) + 4) + name

    def text(self, page_size: int) -> bytes:
        """Return the text of the ``format`` file of a kernel with this page size (bytes)."""
        lines, at = [], 0
        for row, (declared, code) in enumerate((*_COMMON, *self.fields)):
            size = struct.calcsize(f"<{code}")
            lines.append(_line(declared, at, size, code in _SIGNED))
            at += size
            if row + 1 == len(_COMMON):
                lines.append("")
        if self.named:
            lines.append(_line("__data_loc char[] name", at, 4, signed=False))
        body = "\n".join(lines)
        head = f"name: {self.name}\nID: {self.number}\nformat:\n"
        print_fmt = self.print_fmt.replace(_SHIFT, str(page_size.bit_length() - 1))
        return f"{head}{body}\n\nprint fmt: {print_fmt}\n".encode()

    def _codes(self) -> str:
        return "<" + "".join(code for _, code in (*_COMMON, *self.fields))


def _line(declared: str, offset: int, size: int, signed: bool) -> str:
    return f"\tfield:{declared};\toffset:{offset};\tsize:{size};\tsigned:{int(signed)};"


_SHIFT = "PAGE_SHIFT"
_DEV = "((unsigned int) ((REC->s_dev) >> 20)), ((unsigned int) ((REC->s_dev) & ((1U << 20) - 1)))"
_INODE = (("unsigned long i_ino", "Q"), ("unsigned long index", "Q"), ("dev_t s_dev", "I"))
_RANGE = (*_INODE, ("unsigned long last_index", "Q"))
_RANGE_TEXT = (
    f'"dev=%d:%d ino=%lx ofs=%lld-%lld", {_DEV}, REC->i_ino, ((loff_t)REC->index) << {_SHIFT}, '
    f"((((loff_t)REC->last_index + 1) << {_SHIFT}) - 1)"
)
_REQUEST = (
    ("dev_t dev", "I"),
    ("sector_t sector", "Q"),
    ("unsigned int nr_sector", "I"),
    ("char rwbs[8]", "8s"),
)
_REQUEST_TEXT = (
    '"%d,%d %s () %llu + %u", ((unsigned int) ((REC->dev) >> 20)), '
    "((unsigned int) ((REC->dev) & ((1U << 20) - 1))), REC->rwbs, "
    "(unsigned long long)REC->sector, REC->nr_sector"
)
_DERIVED = (
    ("unsigned int run", "I"),
    ("unsigned long long duration_ns", "Q"),
    ("unsigned long long page", "Q"),
    ("unsigned long long pages", "Q"),
    ("unsigned long long sector", "Q"),
    ("unsigned long long sectors", "Q"),
    ("char what[16]", "16s"),
)
_PAGES_TEXT = '"run=%u %s page=%llu pages=%llu %s", REC->run, REC->what, REC->page, REC->pages, '
_EVENTS = (
    Format(
        1,
        "filemap",
        "mm_filemap_add_to_page_cache",
        (*_INODE, ("unsigned char order", "B")),
        f'"dev %d:%d ino %lx pfn=0x0 ofs=%lu order=%u", {_DEV}, REC->i_ino, '
        f"REC->index << {_SHIFT}, REC->order",
    ),
    Format(2, "block", "block_rq_issue", _REQUEST, _REQUEST_TEXT),
    Format(3, "block", "block_rq_complete", _REQUEST, _REQUEST_TEXT),
    Format(
        4,
        "sched",
        "sched_switch",
        (
            ("char prev_comm[16]", "16s"),
            ("pid_t prev_pid", "i"),
            ("int prev_prio", "i"),
            ("long prev_state", "q"),
            ("char next_comm[16]", "16s"),
            ("pid_t next_pid", "i"),
            ("int next_prio", "i"),
        ),
        '"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%ld ==> next_comm=%s next_pid=%d '
        'next_prio=%d", REC->prev_comm, REC->prev_pid, REC->prev_prio, REC->prev_state, '
        "REC->next_comm, REC->next_pid, REC->next_prio",
    ),
    Format(
        5,
        "sched",
        "sched_waking",
        (("char comm[16]", "16s"), ("pid_t pid", "i"), ("int prio", "i")),
        '"comm=%s pid=%d prio=%d", REC->comm, REC->pid, REC->prio',
    ),
    Format(
        6,
        "block",
        "block_bio_queue",
        (*_REQUEST, ("char comm[16]", "16s")),
        f"{_REQUEST_TEXT.replace('%s () %llu + %u', '%s %llu + %u [%s]')}, REC->comm",
    ),
    Format(
        7,
        "filemap",
        "mm_filemap_fault",
        _INODE,
        f'"dev=%d:%d ino=%lx ofs=%lld", {_DEV}, REC->i_ino, ((loff_t)REC->index) << {_SHIFT}',
    ),
    Format(8, "filemap", "mm_filemap_get_pages", _RANGE, _RANGE_TEXT),
    Format(9, "filemap", "mm_filemap_map_pages", _RANGE, _RANGE_TEXT),
    Format(
        10,
        "foreread",
        "file_system",
        (("dev_t s_dev", "I"), ("unsigned int ra_pages", "I"), ("char fstype[16]", "16s")),
        f'"dev=%d:%d ra_pages=%u %s", {_DEV}, REC->ra_pages, REC->fstype',
    ),
    Format(11, "foreread", "page_access", _DERIVED, f"{_PAGES_TEXT}__get_str(name)", named=True),
    Format(
        12,
        "foreread",
        "request",
        _DERIVED,
        '"run=%u %s %llu + %llu, %llu ns", REC->run, REC->what, REC->sector, REC->sectors, '
        "REC->duration_ns",
        named=True,
    ),
    Format(13, "foreread", "read_unused", _DERIVED, f"{_PAGES_TEXT}__get_str(name)", named=True),
    Format(
        14,
        "foreread",
        "wait",
        _DERIVED,
        '"run=%u waits for %s, %llu ns", REC->run, REC->what, REC->duration_ns',
        named=True,
    ),
)
FORMATS = {event.name: event for event in _EVENTS}
