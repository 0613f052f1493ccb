"""squashfs images of the real builders, read."""

import mmap
from pathlib import Path

import numpy as np
import pytest
from image_trees import built, make_tree, squashfs

from foreread.emulator.images import compressors
from foreread.emulator.images import squashfs as module
from foreread.emulator.images.compressors import MissingCompressor, packed_size, remedy_of, unpack
from foreread.emulator.images.source import ImageError
from foreread.emulator.images.squashfs import read_squashfs
from foreread.emulator.images.squashfs_contents import Contents

DATA = Path(__file__).parent / "data"
GOLDEN = sorted(DATA.glob("*.squashfs"))
BLOCKS = {"gzip": "128K", "xz": "1M", "zstd": "64K", "lz4": "16K", "lzo": "256K"}


def all_contents(image, octets):
    """The contents of all files by path, put together from the tables."""
    found, whole = {}, Contents(image, octets)
    for path, row in image.rows.items():
        file = int(image.names["file"][row])
        if file >= 0:
            blocks = -(-int(image.files["size"][file]) // image.block_size)
            found[path] = b"".join(whole.block(file, n) for n in range(blocks))
    return found


needs_liblzo = pytest.mark.skipif(
    remedy_of("lzo") is not None, reason="this machine has no liblzo2: lzo was not unpacked"
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    return root, make_tree(root)


@pytest.mark.parametrize("compressor", sorted(BLOCKS))
def test_the_tables_of_an_image_lead_to_the_contents_of_each_file(compressor, tree, tmp_path):
    root, files = tree
    image_file = squashfs(root, tmp_path / "image", "-comp", compressor, "-b", BLOCKS[compressor])
    octets = image_file.read_bytes()
    image = read_squashfs(octets)
    assert image.superblock.compressor == compressor
    assert all_contents(image, octets) == files
    assert (image.files["fragment"] >= 0).any()
    assert (image.blocks["length"] == 0).any() == (image.block_size < 700_000)  # the hole


@pytest.mark.parametrize(
    "options",
    [
        ("-no-fragments",),
        ("-always-use-fragments",),
        ("-noI", "-noD", "-noF", "-noX"),
        ("-no-duplicates", "-no-exports"),
        ("-noI", "-noId"),
    ],
)
def test_options_of_the_builder_change_the_places_only(options, tree, tmp_path):
    root, files = tree
    octets = squashfs(root, tmp_path / "image", *options).read_bytes()
    assert all_contents(read_squashfs(octets), octets) == files


def test_images_of_the_other_builder_are_read_as_well(tree, tmp_path):
    root, files = tree
    image_file = tmp_path / "image"
    built("gensquashfs", "--pack-dir", root, "--quiet", "--compressor", "gzip", image_file)
    octets = image_file.read_bytes()
    found = all_contents(read_squashfs(octets), octets)
    assert {path: found[path] for path in files} == files


def test_duplicates_share_their_blocks_and_hard_links_their_file(tree, tmp_path):
    image = read_squashfs(squashfs(tree[0], tmp_path / "image").read_bytes())
    file = {path: int(image.names["file"][row]) for path, row in image.rows.items()}
    assert file["/usr/lib/another-name"] == file["/usr/lib/lib5.so"]
    twice = [image.files[file[path]] for path in ("/usr/share/same", "/usr/lib/lib8.so")]
    first, second = (image.blocks["at"][int(row["first"])] for row in twice)
    assert first == second
    assert twice[0]["inode"] != twice[1]["inode"]


def test_a_mapped_image_is_read_like_one_in_memory(tree, tmp_path):
    image_file = squashfs(tree[0], tmp_path / "image")
    with (
        image_file.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as octets,
    ):
        mapped = read_squashfs(octets)
    in_memory = read_squashfs(image_file.read_bytes())
    assert mapped.rows == in_memory.rows
    for name in ("files", "blocks", "fragments", "metadata", "names", "gets"):
        np.testing.assert_array_equal(getattr(mapped, name), getattr(in_memory, name))


def test_a_lookup_in_a_large_directory_begins_at_its_part(tmp_path):
    folder = tmp_path / "tree/many"
    folder.mkdir(parents=True)
    for number in range(3000):
        (folder / f"a-name-that-fills-the-listing-{number:05d}").write_bytes(b"")
    image = read_squashfs(squashfs(tmp_path / "tree", tmp_path / "image").read_bytes())
    last = image.names[image.rows["/many/a-name-that-fills-the-listing-02999"]]
    listing = image.metadata["at"] >= image.superblock.directory_table
    gets = image.gets[int(last["first"]) :][: int(last["gets"])]
    # The listing has 14 blocks; without the index all of them would be read.
    assert np.count_nonzero(listing & (image.metadata["unpacked"] == 8192)) > 10
    assert np.count_nonzero(listing[gets] & (image.metadata["unpacked"][gets] > 100)) <= 2


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_images_are_read_alike_on_every_machine(path):
    octets = path.read_bytes()
    image = read_squashfs(octets)
    name, _, block = path.stem.partition("-")
    assert image.superblock.compressor == name
    assert image.block_size == int(block) << 10
    found = all_contents(image, octets)
    assert {path: len(octets) for path, octets in found.items()} == {
        "/bin/tool": 70_000,
        "/etc/one": 4,
        "/etc/two": 900,
        "/lib/shared.so": 9_000,
    }
    assert found["/etc/one"] == b"one\n"


def test_there_is_a_golden_image_of_each_compressor():
    assert {path.stem.partition("-")[0] for path in GOLDEN} == set(BLOCKS)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_cut_image_is_refused_at_every_length(path):
    octets = path.read_bytes()
    used = read_squashfs(octets).superblock.bytes_used
    for length in range(0, used, 97):
        with pytest.raises(ImageError):
            read_squashfs(octets[:length])


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_damaged_byte_gives_an_image_or_a_clear_error(path):
    octets = path.read_bytes()
    used = read_squashfs(octets).superblock.bytes_used
    counts = {"read": 0, "refused": 0}
    for at in [*range(96), *range(96, used, 7)]:
        for bit in (0, 3, 7):
            damaged = bytearray(octets)
            damaged[at] ^= 1 << bit
            try:
                all_contents(read_squashfs(damaged), damaged)
                counts["read"] += 1
            except ImageError as error:
                assert error.remedy
                counts["refused"] += 1
    assert min(counts.values()) > 20


@pytest.mark.parametrize(
    ("octets", "message"),
    [
        (b"", "not a squashfs"),
        (b"hsqs", "not a squashfs"),
        (b"\x7fELF" + b"\0" * 200, "not a squashfs"),
        (b"hsqs" + b"\xff" * 200, r"squashfs 65535\.65535"),
    ],
)
def test_what_is_no_image_is_said(octets, message):
    with pytest.raises(ImageError, match=message):
        read_squashfs(octets)


def test_a_directory_that_contains_itself_is_refused(tmp_path):
    (tmp_path / "tree/folder").mkdir(parents=True)
    image_file = squashfs(tmp_path / "tree", tmp_path / "image", "-noI", "-noD", "-noF", "-noX")
    octets = bytearray(image_file.read_bytes())
    image = read_squashfs(octets)
    root = image.superblock.root
    listing = octets.index(b"folder") - 8
    octets[listing : listing + 2] = root[1].to_bytes(2, "little")  # the entry's inode: the root
    with pytest.raises(ImageError, match="two names"):
        read_squashfs(octets)


def test_memory_for_names_is_bounded(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_NAMES", 100)
    octets = squashfs(tree[0], tmp_path / "image").read_bytes()
    with pytest.raises(ImageError, match="more than 100 names"):
        read_squashfs(octets)


@pytest.mark.parametrize("compressor", sorted(BLOCKS))
def test_sizes_of_blocks_are_those_of_the_builder(compressor, tree, tmp_path):
    root, files = tree
    options = ("-comp", compressor, "-b", "64K", "-no-fragments")
    image = read_squashfs(squashfs(root, tmp_path / "image", *options).read_bytes())
    file = image.files[int(image.names["file"][image.rows["/usr/lib/lib9.so"]])]
    sizes = image.blocks["length"][int(file["first"]) :][: int(file["blocks"])].tolist()
    whole = files["/usr/lib/lib9.so"]
    parts = [whole[at : at + 65536] for at in range(0, len(whole), 65536)]
    ours = [packed_size(compressor, part, 65536) for part in parts]
    # Versions of a library differ by a few bytes.
    np.testing.assert_allclose(ours, sizes, rtol=0.01)


@pytest.mark.parametrize(("compressor", "level"), [("gzip", 3), ("zstd", 3)])
def test_the_level_of_a_compressor_is_read_and_gives_the_builder_s_sizes(
    compressor, level, tree, tmp_path
):
    options = ("-comp", compressor, "-b", "64K", "-no-fragments")
    chosen = (*options, "-Xcompression-level", str(level))
    image = read_squashfs(squashfs(tree[0], tmp_path / "image", *chosen).read_bytes())
    assert image.superblock.level == level
    file = image.files[int(image.names["file"][image.rows["/usr/lib/lib9.so"]])]
    sizes = image.blocks["length"][int(file["first"]) :][: int(file["blocks"])].tolist()
    whole = tree[1]["/usr/lib/lib9.so"]
    parts = [whole[at : at + 65536] for at in range(0, len(whole), 65536)]
    ours = [packed_size(compressor, part, 65536, level) for part in parts]
    np.testing.assert_allclose(ours, sizes, rtol=0.01)
    usual = read_squashfs(squashfs(tree[0], tmp_path / "usual", *options).read_bytes())
    assert usual.superblock.level is None


def test_a_block_that_unpacks_to_more_than_it_may_is_refused():
    import zlib

    with pytest.raises(ImageError, match="more than 8,192"):
        unpack("gzip", zlib.compress(b"\0" * 1_000_000), 8192)


def test_a_compressor_that_nothing_here_unpacks_is_named():
    with pytest.raises(ImageError, match="compressed with lzma"):
        unpack("lzma", b"", 8192)


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    with pytest.raises(MissingCompressor, match="zstandard") as caught:
        unpack("zstd", b"", 8192)
    assert "pip install" in caught.value.remedy
    assert remedy_of("zstd") == caught.value.remedy
    assert remedy_of("gzip") is None


def test_a_missing_liblzo_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(compressors, "_LZO", "liblzo-of-nobody.so")
    with pytest.raises(MissingCompressor, match="liblzo-of-nobody") as caught:
        unpack("lzo", b"", 8192)
    assert "apt install liblzo2-2" in caught.value.remedy
    assert remedy_of("lzo") == caught.value.remedy


@needs_liblzo
@pytest.mark.parametrize("octets", [b"", b"\0", b"\x11\0", bytes(range(256)) * 9], ids=len)
def test_what_is_not_lzo_is_refused(octets):
    with pytest.raises(ImageError, match="not valid lzo data"):
        unpack("lzo", octets, 8192)


@needs_liblzo
def test_lzo_that_unpacks_to_more_than_it_may_is_refused():
    packed = compressors._lzo(b"a" * 9000, 0, 8)
    assert unpack("lzo", packed, 9000) == b"a" * 9000
    with pytest.raises(ImageError):
        unpack("lzo", packed, 8192)


@needs_liblzo
@pytest.mark.parametrize(
    ("words", "level"),
    [
        (("-Xcompression-level", "3"), 3),
        (("-Xalgorithm", "lzo1x_1"), 0),
        (("-Xalgorithm", "lzo1x_999", "-Xcompression-level", "9"), 9),
    ],
)
def test_the_algorithm_and_level_of_lzo_give_the_builder_s_sizes(words, level, tree, tmp_path):
    options = ("-comp", "lzo", "-b", "64K", "-no-fragments")
    image = read_squashfs(squashfs(tree[0], tmp_path / "image", *options, *words).read_bytes())
    assert image.superblock.level == level
    file = image.files[int(image.names["file"][image.rows["/usr/lib/lib9.so"]])]
    sizes = image.blocks["length"][int(file["first"]) :][: int(file["blocks"])].tolist()
    whole = tree[1]["/usr/lib/lib9.so"]
    parts = [whole[at : at + 65536] for at in range(0, len(whole), 65536)]
    assert [packed_size("lzo", part, 65536, level) for part in parts] == sizes
