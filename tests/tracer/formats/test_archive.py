"""Tar archives as streams: what tar programs write is read, and bombs are refused early."""

import bz2
import gzip
import io
import lzma
import subprocess
import tarfile

import hostile_archives as hostile
import pytest
from rings import further

from foreread.boards.base.bounded import UnboundedError
from foreread.tracer.formats.archive import check, is_archive, unpack
from foreread.tracer.formats.capture import CaptureError
from foreread.tracer.formats.decompressed import Decompressed
from foreread.tracer.formats.limits import LimitError, check_size
from foreread.tracer.formats.tar_members import TarReader

MIB = 1 << 20
# Decompressed before an archive is refused: the zeros at its end take most.
MOST_READ = {hostile.zeros_after_the_end: 66 * MIB, hostile.gzip_expansion: 8 * MIB}
PACKERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
BOMBS = [
    case
    for case in hostile.ARCHIVES
    if case not in (hostile.deep_objects, hostile.numbers_as_text)  # damage of the document
]
NOW = (hostile.gzip_expansion, hostile.pax_chain, hostile.gnu_sparse_extended, hostile.huge_json)


def content_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("make", further(BOMBS, NOW), ids=lambda make: make.__name__)
def test_a_bomb_is_refused_before_much_of_it_is_decompressed(make, tmp_path, monkeypatch):
    archive = make(tmp_path)
    read = [0]
    whole = Decompressed.read

    def counted(self, size):
        piece = whole(self, size)
        read[0] += len(piece)
        return piece

    monkeypatch.setattr(Decompressed, "read", counted)
    for use in (lambda: unpack(archive, tmp_path / "to"), lambda: check(archive)):
        read[0] = 0
        with pytest.raises((LimitError, CaptureError), match=hostile.ARCHIVES[make]) as error:
            use()
        assert str(error.value).startswith(f"{archive}: ")
        assert error.value.remedy
        assert read[0] <= MOST_READ.get(make, 16 * MIB)
    assert not any((tmp_path / "to").rglob("format"))


def test_an_archive_of_more_than_is_read_in_all_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("foreread.tracer.formats.decompressed.MOST_ARCHIVE_BYTES", 3 * MIB)
    one = hostile.header("c/trace/cpu0.raw", MIB)
    archive = hostile._packed(tmp_path, "total.tar.gz", [one, MIB] * 4)
    with pytest.raises(LimitError, match="unpacks to more than 3 MiB"):
        unpack(archive, tmp_path / "to")


def test_small_members_count_in_all(tmp_path, monkeypatch):
    monkeypatch.setattr("foreread.tracer.formats.limits.MOST_FORMATS_BYTES", 1000)
    body = b"".join(hostile.member(f"c/events/s/e{i}/format", b"x" * 400) for i in range(3))
    archive = tmp_path / "a.tar"
    archive.write_bytes(body + hostile.END)
    with pytest.raises(LimitError, match="the sum of its small members"):
        unpack(archive, tmp_path / "to")


@pytest.mark.parametrize("form", ["v7", "ustar", "gnu", "oldgnu", "posix"])
@pytest.mark.parametrize("packed", PACKERS)
def test_what_gnu_tar_writes_is_read(tmp_path, form, packed):
    long = "l" * 60 if form in ("v7", "ustar") else "l" * 150
    files = {
        f"c/{long}/trace/cpu0.raw" if form != "v7" else "c/trace/cpu0.raw": b"\x01" * 700_000,
        "c/capture.json": b"{}",
        "c/trace/events/s/e/format": b"name: e\n",
        "c/trace/stats/cpu0": b"",
    }
    for name, content in files.items():
        path = tmp_path / "from" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "from/c/link").symlink_to("/etc/passwd")
    archive = tmp_path / "a.tar"
    command = ["tar", f"--format={form}", "-C", str(tmp_path / "from"), "-cf", str(archive), "c"]
    subprocess.run(command, check=True)
    archive.write_bytes(PACKERS[packed](archive.read_bytes()))
    assert is_archive(archive)
    unpack(archive, tmp_path / "to")
    assert content_of(tmp_path / "to") == files


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_members_are_those_that_tarfile_finds(tmp_path, form):
    archive = tmp_path / "a.tar"
    with tarfile.open(archive, "w", format=form) as tar:
        for name, size in (("d/é" * 30, 0), ("n" * 99, 513), ("x/" * 40 + "y", 512), ("z", 3000)):
            info = tarfile.TarInfo(name)
            info.size = size
            tar.addfile(info, io.BytesIO(b"c" * size))
        info = tarfile.TarInfo("folder")
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    with tarfile.open(archive) as tar:
        expected = [(one.name, one.size, one.isfile()) for one in tar]
    with archive.open("rb") as file:
        found = [(m.name.rstrip("/"), m.size, m.is_file) for m in TarReader(file)]
    assert found == expected


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_streams_after_one_another_are_one(tmp_path, pack):
    body = hostile.member("c/capture.json", b"{}" * 600) + hostile.END
    archive = tmp_path / "a.tar.packed"
    archive.write_bytes(b"".join(pack(body[at : at + 500]) for at in range(0, len(body), 500)))
    unpack(archive, tmp_path / "to")
    assert content_of(tmp_path / "to") == {"c/capture.json": b"{}" * 600}


@pytest.mark.parametrize("name", ["/c/capture.json", "../capture.json", "c/../../capture.json"])
def test_nothing_is_written_outside_the_folder(tmp_path, name):
    archive = tmp_path / "a.tar"
    archive.write_bytes(hostile.member(name, b"{}") + hostile.END)
    unpack(archive, tmp_path / "to/deep/enough")
    assert content_of(tmp_path) == {"a.tar": archive.read_bytes()}


@pytest.mark.parametrize("kind", [b"1", b"2", b"3", b"4", b"5", b"6", b"V", b"M"])
def test_only_regular_files_are_unpacked(tmp_path, kind):
    archive = tmp_path / "a.tar"
    body = hostile.header("c/capture.json", 0, kind, b"/etc/passwd")
    archive.write_bytes(body + hostile.member("c/disk.json", b"[]") + hostile.END)
    unpack(archive, tmp_path / "to")
    assert content_of(tmp_path / "to") == {"c/disk.json": b"[]"}


def test_every_truncation_and_every_flipped_header_byte_is_refused(tmp_path):
    body = hostile.member("c/capture.json", b"{}" * 400) + hostile.END
    archive = tmp_path / "a.tar"
    refused = 0
    for length in range(0, len(body) - len(hostile.END) + 1, 64):
        archive.write_bytes(body[:length])
        with pytest.raises((CaptureError, LimitError)):
            check(archive)
        refused += 1
    for at in (*range(0, 140), *range(148, 264)):
        archive.write_bytes(body[:at] + bytes((body[at] ^ 0x15,)) + body[at + 1 :])
        with pytest.raises((CaptureError, LimitError)):
            check(archive)
        refused += 1
    assert refused > 200


def test_a_pax_header_that_is_damaged_is_refused(tmp_path):
    archive = tmp_path / "a.tar"
    for records in (b"4 a=\n", b"99 path=a\n", b"x path=a\n", b"11 size=-1\n", b"0 a"):
        archive.write_bytes(hostile.member("x", records, b"x") + hostile.member("c") + hostile.END)
        with pytest.raises(CaptureError, match="pax header"):
            check(archive)


def test_a_pipe_is_no_archive_and_nothing_waits_for_it(tmp_path):
    hostile.os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnboundedError):
        is_archive(tmp_path / "pipe")


def test_a_limit_is_inclusive():
    check_size("it", 10, 10, "")
    with pytest.raises(LimitError, match="it has 11 bytes, and at most 10 bytes"):
        check_size("it", 11, 10, "")
