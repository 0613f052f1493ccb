"""Reads of EROFS images, predicted from their tables and seen on the running kernel."""

from __future__ import annotations

import os
import platform
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from erofs_builder import IMAGES, build
from erofs_programs import calls_of, emulated, rows_of
from image_trees import make_tree
from rings import further
from traced_bios import read_from

from foreread.emulator.images.erofs import read_erofs
from foreread.emulator.linux.filesystems import has_large_folios
from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.requests import Limits
from foreread.emulator.linux.rules import version_of

PAGE = os.sysconf("SC_PAGE_SIZE")
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no image was mounted"),
    pytest.mark.skipif(PAGE != 4096, reason="this kernel has other pages than the images blocks"),
]


@pytest.mark.parametrize(
    ("name", "kib"), further(product(IMAGES, (0, 16, 128, 512)), [("lz4", 128)])
)
def test_the_kernel_reads_from_erofs_what_emulation_and_tables_say(name, kib, tmp_path):
    if "erofs" not in Path("/proc/filesystems").read_text():
        pytest.skip("this kernel has no EROFS")
    make_tree(tmp_path / "tree")
    image = read_erofs(build(name, tmp_path / "tree", tmp_path / "image").read_bytes())
    calls = calls_of(image, np.random.default_rng(9))
    seen, sectors = read_from(tmp_path, kib, calls)
    version = version_of(platform.release())
    found = emulated(
        *(image, calls, version, kib * 1024 // PAGE),
        Machine(page_size=PAGE, io_pages=sectors * 1024 // PAGE),
        Limits(sectors),
        has_large_folios("erofs", "", version),
    )
    assert len(rows_of(image, calls)) > 100
    assert seen == [(read.at // 512, read.length // 512) for read in found]
