"""Files and folders without a trace: the error names what they are and what to give instead."""

import bz2
import gzip
import json
import lzma
import shutil
import tarfile
from pathlib import Path

import pytest

from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.load import load_any
from foreread.analyzer.ingest.recording import TraceError

DATA = Path(__file__).parent / "data"
PLAIN = DATA / "forms/kernel/plain.txt"
KSHARK = {"type": "kshark.config.session", "Data": {"file": "/home/me/trace.dat"}}
CHROME = {"traceEvents": [{"name": "a", "ph": "X", "ts": 1, "pid": 1, "tid": 1}]}
BIOSNOOP = "TIME(s)     COMM           PID    DISK      T SECTOR     BYTES  LAT(ms)\n"


@pytest.mark.parametrize(
    ("content", "what", "instead"),
    [
        (json.dumps(CHROME).encode(), "a trace in JSON", "Perfetto trace"),
        (json.dumps(CHROME["traceEvents"], indent=1).encode(), "a trace in JSON", "trace.dat"),
        (json.dumps(KSHARK).encode(), "session of KernelShark", "trace.dat"),
        (b'packet {\n  clock_snapshot {\n', "text of its messages", "--txt"),
        (b"Attaching 3 probes...\n@reads[cat]: 12\n", "bpftrace", "foreread record"),
        (b"# To display the perf.data header info, please use --header\n#\n", "report of perf",
         "perf script --ns"),
        (b"     0.000 ( 0.005 ms): cat/123 openat(dfd: CWD) = 3\n", "perf trace", "perf record"),
        (b"cat(1234): RO  /usr/lib/libc.so.6\n", "fatrace", "foreread record"),
        (b"16:11:12.123456 cat(1234) [0:0]: O /etc/passwd\n", "fatrace", "foreread record"),
        (b'execve("/bin/cat", ["cat"], 0x7ffd /* 20 vars */) = 0\nbrk(NULL) = 0x5\n', "strace",
         "foreread record"),
        (b'12 16:11:12.1 openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3\n',
         "strace", "foreread record"),
        (BIOSNOOP.encode(), "biosnoop", "foreread record"),
        (b"COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\n", "iosnoop",
         "foreread record"),
        (b"STARTs   ENDs   COMM   PID    TYPE DEV  BLOCK BYTES LATms\n", "iosnoop",
         "foreread record"),
        (b"TIME(ms)     DISK             COMM           PID    LAT(ms)\n", "biosnoop",
         "foreread record"),
        (b"Attached 4 probes\n@: 12\n", "bpftrace", "foreread record"),
        (b'{\n\t"linux-perf-json-version": 1,\n', "converted to JSON", "perf.data"),
        (b"# ========\n# captured on    : Thu Nov 26\n", "report of perf", "perf script --ns"),
        (b"SIMPLEPERF\1\0", "report of simpleperf", "perf.data"),
        ("# tracer: nop\n".encode("utf-16"), "UTF-16", "iconv"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "Git LFS", "git lfs pull"),
        (b"CPU0 (8,0):\n Reads Queued:  1,  4KiB\n", "summary of blkparse", "NAME.blktrace.N"),
        (b"==================== All Devices ====================\n", "btt", "NAME.blktrace.N"),
        (b"\n Tracing meta data in file trace.dat:\n", "trace-cmd dump", "trace.dat"),
        (b"<!DOCTYPE html>\n<html>\n<body>not found</body>\n", "web page", "made from"),
        (b"PID    COMM               FD ERR PATH\n", "opensnoop", "foreread record"),
        (b"capturing trace... done\nTRACE:\n\x78\x9c\0\0", "atrace", "without atrace -z"),
        (b"\xc1\x1f\xfc\xc1" + bytes(60), "LTTng", "foreread record"),
        (b"\x57\x1d\xd1\x75" + bytes(60), "LTTng", "foreread record"),
        (b"SQLite format 3\0" + bytes(60), "SQLite", "made from"),
        (b"\x04\x22\x4d\x18abc", "lz4", "lz4 -d"),
        (b"\x28\xb5\x2f\xfdabc", "zstd", "zstd -d"),
        (b"PK\x03\x04abc", "zip archive", "unzip"),
        (b"PERFILE2" + bytes(200), r"perf\.data", "perf record"),
        (b"2ELIFREP" + bytes(200), r"perf\.data", "perf record"),
        (b"", "empty", "perf.data"),
        (b"\x7fELF\2\1\1", "program", "trace.dat"),
        (b"\x89PNG\r\n\x1a\n\0", "89 50 4e 47", "trace.dat"),
        (b"dear diary\n", "text without", "perf.data"),
    ],
)  # fmt: skip
def test_files_of_other_tools_are_named(content, what, instead, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=what) as caught:
        open_trace(path)
    assert instead in caught.value.remedy


@pytest.mark.parametrize("machine", ["s390x", "armhf"])
def test_pages_of_a_ring_buffer_alone_are_named(machine, tmp_path):
    path = tmp_path / "trace.dat.cpu0"
    shutil.copy(DATA / f"machines/{machine}/cpu0.raw", path)
    with pytest.raises(TraceError, match="pages of a ring buffer without") as caught:
        load_any(path)
    assert "trace-cmd restore" in caught.value.remedy


PACKERS = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress,
}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "suffix"),
    [
        ("forms/kernel/plain.txt", "gz"),
        ("ftrace/v7-zstd.trace.dat", "xz"),
        ("blktrace/start.bin", "bz2"),
    ],
)
def test_compressed_traces_are_read(source, suffix, tmp_path):
    packed = tmp_path / f"trace.{suffix}"
    packed.write_bytes(PACKERS[suffix]((DATA / source).read_bytes()))
    expected, found = load_any(DATA / source, "all"), load_any(packed, "all")
    for name, column in expected.trace.events.items():
        assert found.trace.events[name].tolist() == column.tolist(), name
    assert found.path == str(packed)


def test_a_compressed_file_that_is_no_trace_is_named_by_its_own_name(tmp_path):
    packed = tmp_path / "diary.txt.gz"
    packed.write_bytes(gzip.compress(b"dear diary\n"))
    with pytest.raises(TraceError, match=r"diary\.txt\.gz: diary\.txt is not a trace"):
        load_any(packed)


def test_a_damaged_compressed_file_says_so(tmp_path):
    packed = tmp_path / "trace.gz"
    packed.write_bytes(gzip.compress(PLAIN.read_bytes())[:-100])
    with pytest.raises(TraceError, match="damaged"):
        load_any(packed)


def test_another_tool_s_archive_says_to_unpack_it(tmp_path):
    with pytest.raises(TraceError, match="contains no capture") as caught:
        load_any(DATA / "brought/perf-directory.tgz")
    assert "unpack it" in caught.value.remedy


def test_a_folder_of_blktrace_is_read(tmp_path):
    for cpu in (0, 1):
        shutil.copy(DATA / f"blktrace/start.blktrace.{cpu}", tmp_path)
    (tmp_path / "notes.txt").write_text("copied from the board\n")
    expected = open_trace(DATA / "blktrace/start.blktrace.0")
    trace = open_trace(tmp_path)
    assert trace.format == "blktrace"
    assert trace.events["index"].tolist() == expected.events["index"].tolist()


def test_a_folder_of_several_disks_asks_for_one(tmp_path):
    for disk in ("sda", "sdb"):
        shutil.copy(DATA / "blktrace/start.blktrace.0", tmp_path / f"{disk}.blktrace.0")
    with pytest.raises(TraceError, match="several disks: sda, sdb") as caught:
        open_trace(tmp_path)
    assert "sda.blktrace.0" in caught.value.remedy


def test_leftovers_of_trace_cmd_are_named(tmp_path):
    for cpu in (0, 1):
        shutil.copy(DATA / "ftrace/pages/cpu0.raw", tmp_path / f"trace.dat.cpu{cpu}")
    with pytest.raises(TraceError, match="trace-cmd left behind") as caught:
        open_trace(tmp_path)
    assert "trace-cmd restore -o trace.dat trace.dat.cpu0 trace.dat.cpu1" in caught.value.remedy


@pytest.mark.parametrize("below", [".", "kernel", "session/kernel"])
def test_an_lttng_trace_is_named(below, tmp_path):
    folder = tmp_path / below
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metadata").write_bytes(b"\x57\x1d\xd1\x75" + bytes(60))
    (folder / "channel0_0").write_bytes(b"\xc1\x1f\xfc\xc1" + bytes(60))
    with pytest.raises(TraceError, match="LTTng"):
        open_trace(tmp_path)


def test_a_folder_that_holds_a_trace_names_it(tmp_path):
    shutil.copy(DATA / "ftrace/v6.trace.dat", tmp_path / "trace.dat")
    with pytest.raises(TraceError, match=r"holds trace\.dat") as caught:
        load_any(tmp_path)
    assert str(tmp_path / "trace.dat") in caught.value.remedy


def test_a_copied_instance_of_tracefs_is_pages_though_it_has_a_file_trace(tmp_path):
    pages = DATA / "ftrace/pages"
    shutil.copytree(pages / "events", tmp_path / "events")
    shutil.copy(pages / "header_page", tmp_path / "events/header_page")
    for cpu in (0, 1):
        folder = tmp_path / f"per_cpu/cpu{cpu}"
        folder.mkdir(parents=True)
        shutil.copy(pages / f"cpu{cpu}.raw", folder / "trace_pipe_raw")
    shutil.copy(DATA / "ftrace/trace.txt", tmp_path / "trace")
    assert load_any(tmp_path, "all").trace.format == "tracefs pages"
    shutil.rmtree(tmp_path / "per_cpu")
    with pytest.raises(TraceError, match=r"holds trace$"):
        load_any(tmp_path, "all")


def test_an_archive_of_a_trace_is_not_read_as_text(tmp_path):
    path = tmp_path / "trace.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(PLAIN, "plain.txt")
    with pytest.raises(TraceError, match="contains no capture"):
        load_any(path)
