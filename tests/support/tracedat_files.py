"""Builds trace.dat files of any version, byte order and long size around given pages."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

from ring_pages import Event, RingPages

DATE, CPUSTAT, BUFFER, TRACECLOCK, UNAME, OFFSET, CPUCOUNT, TSC2NSEC = 1, 2, 3, 4, 5, 7, 8, 14
HEADER_INFO, FTRACE_EVENTS, EVENT_FORMATS, BUFFER_TEXT = 16, 17, 18, 22
INSERT_ID = 77


def header_page(pages: RingPages) -> bytes:
    at, long = pages.data_offset, pages.long_size
    return (
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        f"\tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n"
        "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
        f"\tfield: char data;\toffset:{at};\tsize:{pages.subbuf_size - at};\tsigned:0;\n"
    ).encode()


def insert_format(long: int, page_shift: int = 12) -> bytes:
    """Return mm_filemap_add_to_page_cache as kernels of this long size describe it."""
    offsets = [8, 8 + long, 8 + 2 * long, 8 + 3 * long]
    return (
        f"name: mm_filemap_add_to_page_cache\nID: {INSERT_ID}\nformat:\n"
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
        f"\tfield:unsigned long pfn;\toffset:{offsets[0]};\tsize:{long};\tsigned:0;\n"
        f"\tfield:unsigned long i_ino;\toffset:{offsets[1]};\tsize:{long};\tsigned:0;\n"
        f"\tfield:unsigned long index;\toffset:{offsets[2]};\tsize:{long};\tsigned:0;\n"
        f"\tfield:dev_t s_dev;\toffset:{offsets[3]};\tsize:4;\tsigned:0;\n"
        f"\tfield:unsigned char order;\toffset:{offsets[3] + 4};\tsize:1;\tsigned:0;\n"
        '\nprint fmt: "dev %d:%d ino %lx pfn=0x%lx ofs=%lu order=%u", '
        f"((unsigned int) ((REC->s_dev) >> 20)), REC->i_ino, REC->index << {page_shift}, "
        "REC->order\n"
    ).encode()


def insert(pages: RingPages, pid: int, ino: int, index: int, dev: int = 8 << 20) -> bytes:
    long = "Q" if pages.long_size == 8 else "I"
    return pages.pack("HBBi" + 3 * long + "IB", INSERT_ID, 0, 0, pid, 1, ino, index, dev, 2)


@dataclass
class TraceDat:
    """A file to be; ``cpus`` of the top buffer and of ``instances`` by name are raw pages."""

    version: int = 6
    pages: RingPages = field(default_factory=RingPages)
    cpus: dict[int, bytes] = field(default_factory=dict)
    instances: dict[str, dict[int, bytes]] = field(default_factory=dict)
    options: list[tuple[int, bytes]] = field(default_factory=list)
    formats: dict[str, list[bytes]] = field(default_factory=dict)
    compression: str = "none"
    clock: str = "mono"
    kind: bytes = b"flyrecord\0"

    def pack(self, codes: str, *numbers: int) -> bytes:
        return self.pages.pack(codes, *numbers)

    def head(self) -> bytes:
        big = self.pages.byte_order == "big"
        start = b"\x17\x08\x44tracing" + f"{self.version}\0".encode()
        return start + bytes([big, self.pages.long_size]) + self.pack("I", self.pages.subbuf_size)

    def header_info(self) -> bytes:
        text = header_page(self.pages)
        return (
            b"header_page\0" + self.pack("Q", len(text)) + text
            + b"header_event\0" + self.pack("Q", 0)
        )  # fmt: skip

    def event_formats(self) -> bytes:
        formats = self.formats or {"filemap": [insert_format(self.pages.long_size)]}
        out = self.pack("I", len(formats))
        for system, texts in formats.items():
            out += system.encode() + b"\0" + self.pack("I", len(texts))
            out += b"".join(self.pack("Q", len(text)) + text for text in texts)
        return out

    def option(self, number: int, value: bytes) -> bytes:
        return self.pack("HI", number, len(value)) + value

    def build(self) -> bytes:
        return self.build_v6() if self.version == 6 else self.build_v7()

    def build_v6(self) -> bytes:
        cpu_count = max([*self.cpus, *(c for i in self.instances.values() for c in i), 0]) + 1
        start = self.head() + self.header_info() + self.pack("I", 0) + self.event_formats()
        start += self.pack("IIQI", 0, 0, 0, cpu_count)
        # offsets of the instances are known once the length of the options is
        options = [*self.options, *((BUFFER, self.pack("Q", 0) + n.encode() + b"\0")
                                    for n in self.instances)]  # fmt: skip
        size = sum(6 + len(value) for _, value in options) + 2
        table = 10 + 16 * cpu_count
        place = len(start) + 10 + size + table
        buffers = [(name, cpus, place + i * table)
                   for i, (name, cpus) in enumerate(self.instances.items())]  # fmt: skip
        options = [*self.options, *((BUFFER, self.pack("Q", at) + name.encode() + b"\0")
                                    for name, _, at in buffers)]  # fmt: skip
        out = start + b"options  \0" + b"".join(self.option(n, v) for n, v in options)
        out += self.pack("H", 0)
        data_at = place + len(buffers) * table
        blobs = b""
        for cpus in [self.cpus, *self.instances.values()]:
            out += self.kind
            for cpu in range(cpu_count):
                blob = cpus.get(cpu, b"")
                out += self.pack("QQ", data_at + len(blobs), len(blob))
                blobs += blob
        return out + blobs

    def build_v7(self) -> bytes:
        out = bytearray(self.head() + self.compression.encode() + b"\0" + b"1.0\0")
        pointer = len(out)
        out += bytes(8)
        options = list(self.options)
        for section, content in (
            (HEADER_INFO, self.header_info()),
            (FTRACE_EVENTS, self.pack("I", 0)),
            (EVENT_FORMATS, self.event_formats()),
        ):
            options.append((section, self.pack("Q", self.add_section(out, section, content))))
        for name, cpus in {"": self.cpus, **self.instances}.items():
            options.append((BUFFER, self.add_buffer(out, name, cpus)))
        done = b"".join(self.option(n, v) for n, v in options) + self.option(0, self.pack("Q", 0))
        struct.pack_into(">Q" if self.pages.swap else "<Q", out, pointer,
                         self.add_section(out, 0, done))  # fmt: skip
        return bytes(out)

    def add_section(self, out: bytearray, number: int, content: bytes) -> int:
        at = len(out)
        compressed = self.compression != "none"
        if compressed:
            packed = zlib.compress(content)
            content = self.pack("II", len(packed), len(content)) + packed
        out += self.pack("HHIQ", number, int(compressed), 0, len(content)) + content
        return at

    def add_buffer(self, out: bytearray, name: str, cpus: dict[int, bytes]) -> bytes:
        compressed = self.compression != "none"
        value = self.pack("Q", len(out)) + name.encode() + b"\0" + self.clock.encode() + b"\0"
        value += self.pack("II", self.pages.subbuf_size, len(cpus))
        out += self.pack("HHIQ", BUFFER, int(compressed), 0, 0)
        for cpu, blob in cpus.items():
            stored = self.chunks(blob) if compressed else blob
            value += self.pack("IQQ", cpu, len(out), len(stored))
            out += stored
        return value

    def chunks(self, blob: bytes) -> bytes:
        size = 2 * self.pages.subbuf_size
        parts = [blob[at : at + size] for at in range(0, len(blob), size)]
        out = self.pack("I", len(parts))
        for part in parts:
            packed = zlib.compress(part)
            out += self.pack("II", len(packed), len(part)) + packed
        return out


def small(version: int = 6, byte_order: str = "little", long_size: int = 8) -> TraceDat:
    """Return a file of two CPUs with three inserts at 1000, 1500 and 2000 ns."""
    pages = RingPages(byte_order=byte_order, long_size=long_size)
    file = TraceDat(version, pages)
    for cpu, times in {0: (1000, 2000), 1: (1500,)}.items():
        stream = RingPages(pages.byte_order, pages.long_size, pages.subbuf_size)
        stream.write([Event(t, insert(pages, 40 + cpu, 9, t // 100)) for t in times])
        file.cpus[cpu] = stream.data
    return file
