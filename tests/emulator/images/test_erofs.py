"""EROFS images of the real builder, read."""

import re
import subprocess
from pathlib import Path

import pytest
from image_trees import built, make_tree
from rings import further

from foreread.emulator.images import erofs as module
from foreread.emulator.images.compressors import unpack
from foreread.emulator.images.erofs import read_erofs
from foreread.emulator.images.erofs_format import read_erofs_inode, read_erofs_superblock
from foreread.emulator.images.source import ImageError, Source

DATA = Path(__file__).parent / "data"
EXTENT = re.compile(r"(\d+)\.\.\s*(\d+) \|\s*\d+ :\s*(\d+)\.\.\s*(\d+)")
GOLDEN = sorted(DATA.glob("*.erofs"))
OPTIONS = {
    "uncompressed": (),
    "plain, nothing inline": ("-Enoinline_data",),
    "chunks": ("--chunksize=65536",),
    "lz4, compact indexes": ("-zlz4",),
    "lz4, full indexes": ("-zlz4", "-Elegacy-compress"),
    "lz4hc, big clusters": ("-zlz4hc", "-C65536"),
    "lz4hc, big clusters, full indexes": ("-zlz4hc", "-C65536", "-Eforce-inode-extended"),
    "ends inline": ("-zlz4", "-Eztailpacking"),
    "fragments": ("-zlz4hc", "-C65536", "-Efragments"),
    "all in fragments": ("-zlz4hc", "-C65536", "-Eall-fragments"),
    "fragments and inline ends": ("-zlz4hc", "-C32768", "-Efragments,ztailpacking"),
}


def contents(image, octets, row):
    """The contents of one file, put together from its pieces."""
    file = image.files[row]
    found = bytearray(int(file["size"]))
    for piece in image.pieces[int(file["first"]) :][: int(file["pieces"])]:
        at, length, place, stored, packed, fragment = piece.tolist()
        if fragment:
            part = contents_of_fragments(image, octets)[place : place + length]
        else:
            part = octets[place : place + stored]
            part = unlz4(part, length, image.superblock.features) if packed else part
        assert len(part) >= length
        found[at : at + length] = part[:length]
    return bytes(found)


def unlz4(packed, length, features):
    """Zeros are before the data, or (without the feature for that) after it."""
    if features & 1:
        return unpack("lz4", packed.lstrip(b"\0"), length)
    found, at = bytearray(), 0
    while len(found) < length:
        token, at = packed[at], at + 1
        literals, at = number(packed, token >> 4, at)
        found += packed[at : at + literals]
        at += literals
        if len(found) < length:
            distance = int.from_bytes(packed[at : at + 2], "little")
            match, at = number(packed, token & 15, at + 2)
            for _ in range(match + 4):
                found.append(found[-distance])
    return bytes(found[:length])


def number(packed, value, at):
    """A length of LZ4: 15 goes on in the next bytes."""
    more = value == 15
    while more:
        value, more, at = value + packed[at], packed[at] == 255, at + 1
    return value, at


_CACHE = {}


def contents_of_fragments(image, octets):
    if id(image) not in _CACHE:
        _CACHE.clear()
        _CACHE[id(image)] = contents(image, octets, image.fragments)
    return _CACHE[id(image)]


def all_contents(image, octets):
    return {path: contents(image, octets, row) for path, row in image.names.items() if row >= 0}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    return root, make_tree(root)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_tables_of_an_image_lead_to_the_contents_of_each_file(name, tree, tmp_path):
    root, files = tree
    image_file = tmp_path / "image"
    built("mkfs.erofs", "--quiet", *OPTIONS[name], image_file, root)
    octets = image_file.read_bytes()
    found = all_contents(read_erofs(octets), octets)
    assert found.keys() == files.keys()
    assert {path for path in files if found[path] != files[path]} == set()


def test_hard_links_are_one_file(tree, tmp_path):
    built("mkfs.erofs", "--quiet", tmp_path / "image", tree[0])
    image = read_erofs((tmp_path / "image").read_bytes())
    assert image.names["/usr/lib/another-name"] == image.names["/usr/lib/lib5.so"]


def test_clusters_are_those_that_dump_erofs_shows(tree, tmp_path):
    image_file = tmp_path / "image"
    built("mkfs.erofs", "--quiet", "-zlz4hc", "-C65536", image_file, tree[0])
    octets = image_file.read_bytes()
    image = read_erofs(octets)
    row = image.files[image.names["/usr/lib/lib9.so"]]
    ours = [
        (at, at + length, place, place + stored)
        for at, length, place, stored, *_ in image.pieces[int(row["first"]) :][
            : int(row["pieces"])
        ].tolist()
    ]
    words = ["dump.erofs", "-e", "--path=/usr/lib/lib9.so", str(image_file)]
    shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    theirs = [tuple(map(int, row)) for row in EXTENT.findall(shown)]
    assert len(theirs) > 5
    assert ours == theirs


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_images_are_read_alike_on_every_machine(path):
    octets = path.read_bytes()
    found = all_contents(read_erofs(octets), octets)
    assert {path: len(octets) for path, octets in found.items()} == {
        "/bin/tool": 70_000,
        "/etc/one": 4,
        "/etc/two": 900,
        "/lib/shared.so": 9_000,
    }
    assert found["/etc/one"] == b"one\n"


def test_there_are_golden_images():
    assert len(GOLDEN) == 3


@pytest.mark.parametrize("path", further(GOLDEN), ids=lambda path: path.stem)
def test_a_damaged_byte_gives_an_image_or_a_clear_error(path):
    octets = path.read_bytes()
    counts = {"read": 0, "refused": 0}
    for at in [*range(1024, 1152), *range(1152, 4096, 7)]:
        for bit in (0, 3, 7):
            damaged = bytearray(octets)
            damaged[at] ^= 1 << bit
            try:
                read_erofs(bytes(damaged))
                counts["read"] += 1
            except ImageError as error:
                assert error.remedy
                counts["refused"] += 1
    assert min(counts.values()) > 20


def test_a_directory_shorter_than_an_entry_is_damage():
    """Found by fuzzing: its first name was taken before its listing was checked."""
    damaged = bytearray(GOLDEN[0].read_bytes())
    source = Source(bytes(damaged))
    superblock = read_erofs_superblock(source)
    root = read_erofs_inode(source, superblock, superblock.root)
    damaged[root.at + 8 : root.at + 12] = (10).to_bytes(4, "little")
    with pytest.raises(ImageError, match="a directory is too short"):
        read_erofs(bytes(damaged))


@pytest.mark.parametrize("octets", [b"", b"\0" * 5000, b"hsqs" + b"\0" * 5000])
def test_what_is_no_image_is_said(octets):
    with pytest.raises(ImageError, match="not an EROFS"):
        read_erofs(octets)


def test_features_of_later_builders_are_named(tmp_path):
    damaged = bytearray(GOLDEN[0].read_bytes())
    damaged[1024 + 81] |= 0x40
    with pytest.raises(ImageError, match="features"):
        read_erofs(bytes(damaged))


def test_memory_for_names_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MOST_NAMES", 3)
    with pytest.raises(ImageError, match="more than 3 names"):
        read_erofs(GOLDEN[0].read_bytes())
