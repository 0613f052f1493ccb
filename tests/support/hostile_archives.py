"""Captures and traces made to exhaust the reader: each a few MB at most on disk, made at once.

Each maker takes a folder and returns the path to give to foreread. The bodies of tars are written
by hand, since tarfile does not write what it cannot bear to read.
"""

import bz2
import gzip
import lzma
import os
import struct
import tarfile
import zlib
from pathlib import Path

from foreread.tracer.formats.archive import unpack

EXAMPLE = Path(__file__).parents[2] / "examples/python-start/python-start.capture.tar.xz"
BLOCK = 512
GIB = 1 << 30


def header(name, size=0, kind=b"0", link=b"", magic=b"ustar\x0000"):
    """Return the block of a tar header."""
    name = name.encode() if isinstance(name, str) else name
    number = b"%011o\0" % size if size < 1 << 33 else b"\x80" + size.to_bytes(11, "big")
    block = b"".join(
        (
            name[:100].ljust(100, b"\0"),
            b"0000644\0" + b"0000000\0" * 2,
            number,
            b"00000000000\0" + b" " * 8 + kind,
            link.ljust(100, b"\0"),
            magic,
        )
    ).ljust(BLOCK, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def padded(content):
    """Return content filled up to whole blocks."""
    return content + b"\0" * (-len(content) % BLOCK)


def member(name, content=b"", kind=b"0"):
    """Return a header and its content."""
    return header(name, len(content), kind) + padded(content)


def record(key, value):
    """Return one record of a pax header."""
    text = f" {key}={value}\n".encode()
    length = len(text) + len(str(len(text) + 3))
    return str(length).encode() + text


END = b"\0" * (2 * BLOCK)


def _zeros(file, number):
    """Write zeros in blocks: the packed files are made without holding what they unpack to."""
    block = b"\0" * (1 << 20)
    for _ in range(number >> 20):
        file.write(block)


def _packed(folder, name, pieces, opened=gzip.open):
    path = folder / name
    with opened(path, "wb", 6) as file:
        for piece in pieces:
            if isinstance(piece, int):
                _zeros(file, piece)
            else:
                file.write(piece)
    return path


def _xz(path, mode, _level):
    return lzma.open(path, mode, preset=0)


def example(folder):
    """Unpack the shipped example; return the capture's directory."""
    unpack(EXAMPLE, folder)
    return next(folder.glob("*/capture.json")).parent


def good_members():
    """Return all of the example's members as a tar body without its end."""
    with tarfile.open(EXAMPLE) as tar:
        return b"".join(
            member(one.name, tar.extractfile(one).read()) for one in tar if one.isfile()
        )


def gnu_sparse(folder):
    """A member of 7 GiB that GNU tar's old format stores as nothing but holes."""
    block = bytearray(header("c/capture.json", 0, b"S", magic=b"ustar  \0"))
    block[483:495] = (7 * GIB).to_bytes(12, "big")
    block[483] = 0x80
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return _packed(folder, "gnu-sparse.tar.gz", [bytes(block), END])


def gnu_sparse_extended(folder):
    """The same, with a map of holes that goes on for 100,000 blocks."""
    block = bytearray(header("c/capture.json", 0, b"S", magic=b"ustar  \0"))
    block[482], block[483] = 1, 0x80
    block[484:495] = (7 * GIB).to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    more = bytearray(b"00000000000\0" * 42).ljust(BLOCK, b"\0")
    more[504] = 1
    return _packed(folder, "gnu-sparse-map.tar.gz", [bytes(block), bytes(more) * 100_000, END])


def pax_sparse(folder):
    """A member of 7 GiB in the sparse format of pax 1.0."""
    keys = {"GNU.sparse.major": 1, "GNU.sparse.minor": 0, "GNU.sparse.realsize": 7 * GIB}
    records = b"".join(record(key, value) for key, value in keys.items())
    records += record("GNU.sparse.name", "c/capture.json")
    body = member("x", records, b"x") + member("c/capture.json", b"1\n0\n512\n".ljust(BLOCK, b"\0"))
    return _packed(folder, "pax-sparse.tar.gz", [body, END])


def zeros_member(folder):
    """A member of 7 GiB of zeros, really there: 7 MB of gzip, whose first 64 MiB are written."""
    return _packed(folder, "zeros.tar.gz", [header("c/trace/cpu0.raw", 7 * GIB), 64 << 20])


def huge_json(folder):
    """1 GiB of JSON in 1 MB."""
    return _packed(
        folder, "json.tar.gz", [header("c/capture.json", GIB), b"[" + b"[],[]," * 1000, 64 << 20]
    )


def deep_objects(folder):
    """16 MB of JSON that becomes as many Python objects as possible."""
    text = b"[" + b'{"":0},' * (15_000_000 // 7) + b"0]"
    return _packed(folder, "objects.tar.gz", [member("c/capture.json", text), END])


def pax_bomb(folder):
    """A pax header of 256 MiB, whose first 64 MiB are there."""
    return _packed(folder, "pax.tar.gz", [header("x", 256 << 20, b"x"), 64 << 20, END])


def global_pax_bomb(folder):
    """A global pax header of 256 MiB, whose first 64 MiB are there."""
    return _packed(folder, "global.tar.gz", [header("g", 256 << 20, b"g"), 64 << 20, END])


def longname_bomb(folder):
    """A GNU long name of 256 MiB, whose first 64 MiB are there."""
    return _packed(folder, "longname.tar.gz", [header("././@LongLink", 256 << 20, b"L"), 64 << 20])


def pax_chain(folder):
    """50,000 pax headers before one member."""
    one = member("x", record("comment", "a"), b"x")
    return _packed(folder, "pax-chain.tar.gz", [one * 50_000, member("c/capture.json"), END])


def longname_chain(folder):
    """50,000 long names before one member."""
    one = member("././@LongLink", b"a\0", b"L")
    return _packed(folder, "longname-chain.tar.gz", [one * 50_000, member("c/capture.json"), END])


def link_chain(folder):
    """50,000 links, each to the next, hard and symbolic by turns; the last one is the metadata."""
    blocks = [
        header(f"c/l{i}", 0, b"1" if i % 2 else b"2", f"c/l{i + 1}".encode()) for i in range(50_000)
    ]
    blocks.append(header("c/capture.json", 0, b"1", b"c/l0"))
    return _packed(folder, "links.tar.gz", [b"".join(blocks), END])


def many_members(folder):
    """100,000 members."""
    block = b"".join(header(f"c/trace/events/s/e{i}/format") for i in range(1000))
    return _packed(folder, "members.tar.gz", [block] * 100 + [END])


def bzip2_bomb(folder):
    """4 GiB of zeros in 3 KB of bzip2, as the content of the metadata."""
    stream = bz2.compress(b"\0" * (64 << 20))
    head = bz2.compress(header("c/capture.json", 4 * GIB))
    path = folder / "zeros.tar.bz2"
    path.write_bytes(head + stream * 64)
    return path


def xz_dictionary(folder):
    """A small xz that asks for a dictionary of 1.5 GiB."""
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20, "preset": 0}]
    packed = bytearray(
        lzma.compress(
            member("c/capture.json", b"{}") + END, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=filters
        )
    )
    # Block header: size, flags, id 0x21, 1 byte of properties: the dictionary, 2 GiB - 512 MiB.
    at = 12
    assert packed[at + 2 : at + 4] == b"\x21\x01"
    packed[at + 4] = 37
    length = (packed[at] + 1) * 4
    packed[at + length - 4 : at + length] = struct.pack(
        "<I", zlib.crc32(bytes(packed[at : at + length - 4]))
    )
    path = folder / "dictionary.tar.xz"
    path.write_bytes(packed)
    return path


def empty_gzip_streams(folder):
    """A million gzip streams that hold nothing, after a header."""
    path = folder / "streams.tar.gz"
    path.write_bytes(gzip.compress(header("c/capture.json", 100)) + gzip.compress(b"") * 1_000_000)
    return path


def zeros_after_the_end(folder):
    """An archive with 64 GiB of zeros promised after its end, of which 128 MiB are there."""
    return _packed(folder, "end.tar.gz", [member("c/capture.json", b"{}"), 128 << 20])


def sparse_raw_pages(folder):
    """A capture's directory whose CPU has 3 GiB of holes as raw pages."""
    capture = example(folder)
    os.truncate(capture / "trace/cpu0.raw", 3 * GIB)
    return capture


def sparse_format(folder):
    """A format file of 3 GiB."""
    capture = example(folder)
    os.truncate(next(capture.glob("trace/events/*/*/format")), 3 * GIB)
    return capture


def sparse_header_page(folder):
    """A header_page of 3 GiB."""
    capture = example(folder)
    os.truncate(capture / "trace/header_page", 3 * GIB)
    return capture


def sparse_statistics(folder):
    """Statistics of a CPU of 3 GiB."""
    capture = example(folder)
    (capture / "trace/stats").mkdir(exist_ok=True)
    (capture / "trace/stats/cpu0").touch()
    os.truncate(capture / "trace/stats/cpu0", 3 * GIB)
    return capture


def sparse_metadata(folder):
    """Metadata of 3 GiB."""
    capture = example(folder)
    os.truncate(capture / "capture.json", 3 * GIB)
    return capture


def sparse_files(folder):
    """A list of files of 3 GiB."""
    capture = example(folder)
    os.truncate(capture / "files.json", 3 * GIB)
    return capture


def sparse_disk(folder):
    """A probe of 3 GiB."""
    capture = example(folder)
    os.truncate(capture / "disk.json", 3 * GIB)
    return capture


def pipe_for_pages(folder):
    """A pipe in place of a header_page: to open it waits for a writer."""
    capture = example(folder)
    (capture / "trace/header_page").unlink()
    os.mkfifo(capture / "trace/header_page")
    return capture


def many_formats(folder):
    """A capture's directory with 16,400 formats of one event."""
    capture = example(folder)
    text = next(capture.glob("trace/events/*/*/format"))
    for number in range(16_400):
        event = capture / f"trace/events/more/e{number}"
        event.mkdir(parents=True)
        os.link(text, event / "format")
    return capture


def _sparse(folder, name, head, size):
    path = folder / name
    path.write_bytes(head)
    os.truncate(path, size)
    return path


def sparse_tracedat(folder):
    """A trace.dat of 7 GiB of holes."""
    return _sparse(folder, "trace.dat", b"\x17\x08\x44tracing6\0\0\x08\0\x10\0\0", 7 * GIB)


def sparse_perfdata(folder):
    """A perf.data of 7 GiB of holes."""
    packed = Path(__file__).parents[1] / "analyzer/ingest/data/perf/pipe.data.xz"
    return _sparse(folder, "perf.data", lzma.decompress(packed.read_bytes()), 7 * GIB)


def sparse_text(folder):
    """A text trace of 7 GiB of holes."""
    return _sparse(folder, "trace.txt", b"# tracer: nop\n#\n", 7 * GIB)


def tracedat_of_many_buffers(folder):
    """A trace.dat of version 6 whose 20,000 instances of 65,536 CPUs share one table."""
    instances, cpus = 20_000, 1 << 16
    start = b"\x17\x08\x44tracing6\0" + bytes((0, 8)) + struct.pack("<I", 4096)
    start += b"header_page\0" + struct.pack("<Q", 0) + b"header_event\0" + struct.pack("<Q", 0)
    start += struct.pack("<IIIIQI", 0, 0, 0, 0, 0, cpus)
    table_at = len(start) + 10 + instances * 15 + 2
    option = struct.pack("<HIQ", 3, 9, table_at) + b"\0"
    path = folder / "buffers.trace.dat"
    path.write_bytes(
        start + b"options  \0" + option * instances + b"\0\0flyrecord\0" + bytes(16 * cpus)
    )
    return path


def gzip_expansion(folder):
    """A good capture's members, and 3 GiB of zeros as another CPU's pages: 64 MiB are there."""
    return _packed(
        folder,
        "pages.tar.gz",
        [good_members(), header("python-start.capture/trace/cpu2.raw", 3 * GIB), 64 << 20],
    )


def total_of_members(folder):
    """An archive of 8 members of 200 MiB each."""
    one = header("c/trace/cpu0.raw", 200 << 20)
    return _packed(folder, "total.tar.gz", [one, 200 << 20] * 8)


def numbers_as_text(folder):
    """Metadata that is one number of 10 million digits, whose conversion takes quadratic time."""
    return _packed(folder, "digits.tar.gz", [member("c/capture.json", b"1" * 10_000_000), END])


def objects_of_files(folder):
    """A capture whose list of files is 60 MB that become 2 GB of Python objects."""
    capture = example(folder)
    (capture / "files.json").write_text("[" + '{"":0},' * (60_000_000 // 7) + "0]")
    return capture


# What makes each, and what the refusal says.
ARCHIVES = {
    gnu_sparse: "member c/capture.json is stored as a sparse file",
    gnu_sparse_extended: "member c/capture.json is stored as a sparse file",
    pax_sparse: "a member is stored as a sparse file",
    zeros_member: "member c/trace/cpu0.raw has 7 GiB, and at most 1 GiB",
    huge_json: "member c/capture.json has 1 GiB, and at most 16 MiB",
    pax_bomb: "an extended header .* has 256 MiB, and at most 64 KiB",
    global_pax_bomb: "an extended header .* has 256 MiB, and at most 64 KiB",
    longname_bomb: "an extended header .* has 256 MiB, and at most 64 KiB",
    pax_chain: "more than 8 extended headers stand before one member",
    longname_chain: "more than 8 extended headers stand before one member",
    link_chain: "more than 24,576 members",
    many_members: "more than 24,576 members",
    bzip2_bomb: "member c/capture.json has 4 GiB, and at most 16 MiB",
    xz_dictionary: "Memory usage limit",
    empty_gzip_streams: "more than 65,536 compressed streams",
    zeros_after_the_end: "its end has more than 64 MiB of zeros",
    gzip_expansion: "member .*/trace/cpu2.raw has 3 GiB, and at most 1 GiB",
    deep_objects: "c/capture.json: it has more values than foreread reads",
    numbers_as_text: "c/capture.json: the number 1+… has more than 64 bits",
}

CASES = {
    **ARCHIVES,
    objects_of_files: "files.json: it has more values than foreread reads",
    sparse_raw_pages: "cpu0.raw with the pages before it has 3 GiB, and at most 1 GiB",
    sparse_format: "format is larger than the 256 KiB",
    sparse_header_page: "header_page is larger than the 64 KiB",
    sparse_statistics: "stats/cpu0 is larger than the 64 KiB",
    sparse_metadata: "capture.json is larger than the 16 MiB",
    sparse_files: "files.json is larger than the 64 MiB",
    sparse_disk: "disk.json is larger than the 16 MiB",
    pipe_for_pages: "lacks header_page",
    many_formats: "has 16,449 formats of events, at most 16,384",
    sparse_tracedat: "trace.dat has 7 GiB, and at most 1 GiB",
    sparse_perfdata: "perf.data has 7 GiB, and at most 1 GiB",
    sparse_text: "trace.txt has 7 GiB, and at most 1 GiB",
    tracedat_of_many_buffers: "more than 256 buffer instances",
}
