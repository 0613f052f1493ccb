"""Reads of EROFS images, predicted from their tables and seen on the running kernel."""

from __future__ import annotations

import os
import platform
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from erofs_builder import IMAGES, build
from erofs_programs import calls_of, emulated, rows_of
from image_trees import make_tree
from loop_image import mounted
from traced_bios import bios_of, nobody_records

from emulator.images.erofs import read_erofs
from emulator.linux.filesystems import has_large_folios
from emulator.linux.operations import Machine
from emulator.linux.requests import Limits
from emulator.linux.rules import version_of
from tracer.backends import tracefs_mount

PAGE = os.sysconf("SC_PAGE_SIZE")
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no image was mounted"),
    pytest.mark.skipif(PAGE != 4096, reason="this kernel has other pages than the images blocks"),
]


@pytest.mark.parametrize("kib", [0, 16, 128, 512])
@pytest.mark.parametrize("name", IMAGES)
def test_the_kernel_reads_from_erofs_what_emulation_and_tables_say(name, kib, tmp_path):
    if "erofs" not in Path("/proc/filesystems").read_text():
        pytest.skip("this kernel has no EROFS")
    make_tree(tmp_path / "tree")
    image = read_erofs(build(name, tmp_path / "tree", tmp_path / "image").read_bytes())
    calls = calls_of(image, np.random.default_rng(9))
    with ExitStack() as stack:
        tracefs = stack.enter_context(tracefs_mount.mounted())
        device = stack.enter_context(mounted(tmp_path / "image", tmp_path / "mounted"))
        stack.enter_context(nobody_records())
        queue = Path(f"/sys/block/{device}/queue")
        (queue / "read_ahead_kb").write_text(str(kib))
        sectors = int((queue / "max_sectors_kb").read_text())
        with bios_of(device, tracefs) as bios:
            for path, parts in calls:
                descriptor = os.open(f"{tmp_path}/mounted{path}", os.O_RDONLY)
                for at, length in parts:
                    os.pread(descriptor, length, at)
                os.close(descriptor)
            seen = bios()
    version = version_of(platform.release())
    found = emulated(
        *(image, calls, version, kib * 1024 // PAGE),
        Machine(page_size=PAGE, io_pages=sectors * 1024 // PAGE),
        Limits(sectors),
        has_large_folios("erofs", "", version),
    )
    assert len(rows_of(image, calls)) > 100
    assert seen == [(read.at // 512, read.length // 512) for read in found]
