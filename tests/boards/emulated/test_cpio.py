"""The initramfs archive, read by an independent reader (busybox cpio)."""

import shutil
import subprocess

import pytest

from foreread.boards.emulated.cpio import DIRECTORY, FILE, LINK, PROGRAM, Entry, archive
from foreread.boards.emulated.initramfs import base_initramfs, job_initramfs

BUSYBOX = shutil.which("busybox")
needs_busybox = pytest.mark.skipif(
    BUSYBOX is None, reason="no busybox: archives were not read back"
)


def unpacked(data, into):
    subprocess.run([BUSYBOX, "cpio", "-i"], input=data, cwd=into, check=True, capture_output=True)
    return into


@needs_busybox
def test_is_read_back(tmp_path):
    entries = {
        "d": Entry(DIRECTORY),
        "d/empty": Entry(FILE),
        "d/odd": Entry(FILE, b"12345"),
        "d/run": Entry(PROGRAM, b"#!/bin/sh\n"),
        "d/link": Entry(LINK, b"odd"),
    }
    root = unpacked(archive(entries), tmp_path)
    assert (root / "d/empty").read_bytes() == b""
    assert (root / "d/link").readlink().name == "odd"
    assert (root / "d/link").read_bytes() == b"12345"
    assert (root / "d/run").stat().st_mode & 0o777 == 0o755


@needs_busybox
def test_the_job_s_archive(tmp_path):
    (tmp_path / "job").mkdir()
    unpacked(job_initramfs({"settings": b"FS=ext4\n", "command": b"exec x\n"}), tmp_path)
    assert (tmp_path / "job/settings").read_bytes() == b"FS=ext4\n"
    assert (tmp_path / "job/command").read_bytes() == b"exec x\n"


def test_modules_are_listed_in_the_order_of_loading():
    data = base_initramfs(b"", {"z": b"", "a": b""}, {"n": b"", "b": b""}, b"")
    assert b"z.ko\na.ko\n" in data
    assert b"n.ko\nb.ko\n" in data
    assert len(data) % 512 == 0
    assert data == base_initramfs(b"", {"z": b"", "a": b""}, {"n": b"", "b": b""}, b"")
