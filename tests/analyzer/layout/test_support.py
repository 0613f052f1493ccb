"""Compressors of which a board's kernel is known, or not known, to unpack an image."""

import gzip
from types import SimpleNamespace

import pytest
from capture_builder import host_of

from foreread.analyzer.layout.order import LayoutError
from foreread.analyzer.layout.support import Support, read_kernel_config, support_of

CONFIG = """\
# Linux/x86 6.12
CONFIG_SQUASHFS_ZSTD=y
CONFIG_SQUASHFS_XZ=m
# CONFIG_SQUASHFS_LZ4 is not set
"""
CUT = gzip.compress(CONFIG.encode(), mtime=0)[:9]


def recording(fstype, kernel="6.12.9-cloud-amd64", **options):
    host = host_of(kernel=kernel, kernel_options=options)
    capture = SimpleNamespace(mounts=[SimpleNamespace(fstype=fstype)], host=host)
    return SimpleNamespace(kernel=kernel, capture=capture, page_size=4096)


@pytest.mark.parametrize(
    ("release", "compressor", "since"),
    [("6.1.0-28", "zstd", "6.10"), ("6.1.0-28", "deflate", "6.6"), ("5.10.0-33", "lzma", "5.16")],
)
def test_an_old_kernel_lacks_a_compressor_of_erofs(release, compressor, since):
    support = Support("EROFS", release)
    why = support.lack(compressor)
    assert f"Linux {since} is the first with it" in why
    with pytest.raises(LayoutError, match=rf"\({release}\) has no {compressor} in EROFS") as error:
        support.usable(["none", compressor], [compressor])
    assert f"--compressor {compressor}, or build a newer kernel" in error.value.remedy


def test_a_compressor_that_is_lacking_is_left_out_with_a_note():
    usable, notes = Support("EROFS", "6.1.0").usable(["none", "lz4", "zstd"], [])
    assert usable == ["none", "lz4"]
    assert [note.partition(":")[0] for note in notes] == ["zstd is not compared"]


def test_the_compressor_of_the_recorded_image_is_in_no_doubt():
    support = support_of("squashfs", [recording("squashfs")], "xz")
    assert support.doubt("xz") is None
    assert "needs CONFIG_SQUASHFS_ZSTD" in support.doubt("zstd")


def test_a_start_on_another_file_system_shows_no_compressor():
    support = support_of("squashfs", [recording("ext4")], "xz")
    assert "needs CONFIG_SQUASHFS_XZ" in support.doubt("xz")


def test_a_measurement_on_the_board_decides():
    support = support_of("squashfs", [recording("ext4")], "gzip", ["zstd"], ["lz4"])
    assert support.doubt("zstd") is None
    assert support.lack("zstd") is None
    assert "does not mount squashfs with lz4" in support.lack("lz4")


def test_what_unpacks_lz4_unpacks_lz4hc():
    support = support_of("EROFS", [recording("erofs")], "lz4")
    assert support.doubt("lz4hc") is None
    assert support.doubt("zstd") is not None


@pytest.mark.parametrize("pack", [lambda octets: octets, gzip.compress])
def test_the_configuration_of_a_kernel_decides(pack, tmp_path):
    (tmp_path / "config").write_bytes(pack(CONFIG.encode()))
    config = read_kernel_config(tmp_path / "config")
    support = support_of("squashfs", [recording("ext4")], "gzip", config=config)
    assert support.lack("zstd") is None
    assert support.lack("xz") is None
    assert "CONFIG_SQUASHFS_LZ4 is not set" in support.lack("lz4")
    assert support.doubt("zstd") is None


def test_the_recorded_configuration_decides_unless_another_is_given():
    options = {"CONFIG_SQUASHFS_LZO": "m", "CONFIG_SQUASHFS_XZ": "n"}
    start = recording("ext4", **options)
    support = support_of("squashfs", [recording("ext4"), start], "gzip")
    assert (support.lack("lzo"), support.doubt("lzo")) == (None, None)
    assert "CONFIG_SQUASHFS_XZ is not set" in support.lack("xz")
    huge = recording("ext4", CONFIG_TRANSPARENT_HUGEPAGE="n")  # as sysfs shows it
    assert support_of("squashfs", [huge], "gzip").doubt("xz") is not None
    given = support_of("squashfs", [start], "gzip", config=frozenset({"CONFIG_SQUASHFS_XZ"}))
    assert given.lack("xz") is None
    assert "CONFIG_SQUASHFS_LZO is not set" in given.lack("lzo")


@pytest.mark.parametrize("octets", [b"", b"\x1f\x8bxx", b"hello=y\n", CUT], ids=len)
def test_a_file_that_is_no_configuration_is_refused(octets, tmp_path):
    (tmp_path / "config").write_bytes(octets)
    with pytest.raises(LayoutError, match="is not the configuration of a kernel"):
        read_kernel_config(tmp_path / "config")
