"""Where the file system of an AppImage begins, and what damaged ones get."""

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from image_trees import make_tree, squashfs

from foreread.emulator.images.appimage import file_system_at
from foreread.emulator.images.source import ImageError
from foreread.emulator.images.squashfs import read_squashfs

IMAGE = b"hsqs" + b"\0" * 96
SECTIONS_AT, EACH, NUMBER = 256, 64, 3


def program(wide=True, big=False, last=(64, 100), number=NUMBER, sections_at=SECTIONS_AT):
    """A program with a table of sections; the last one has a place and a size."""
    order = ">" if big else "<"
    ident = b"\x7fELF" + bytes([2 if wide else 1, 2 if big else 1, 1, 0]) + b"AI\x02"
    octets = bytearray(SECTIONS_AT + EACH * NUMBER)
    octets[: len(ident)] = ident
    struct.pack_into(f"{order}{'Q' if wide else 'I'}", octets, 40 if wide else 32, sections_at)
    struct.pack_into(f"{order}2H", octets, 58 if wide else 46, EACH, number)
    row = SECTIONS_AT + EACH * (NUMBER - 1)
    struct.pack_into(f"{order}2{'Q' if wide else 'I'}", octets, row + (24 if wide else 16), *last)
    return bytes(octets)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("big", [True, False])
def test_the_squashfs_begins_where_the_program_ends(wide, big):
    octets = program(wide, big)
    assert file_system_at(octets + IMAGE) == len(octets)
    longer = program(wide, big, last=(SECTIONS_AT + EACH * NUMBER, 77))
    assert file_system_at(longer + b"\1" * 77 + IMAGE) == len(longer) + 77


@pytest.mark.parametrize("octets", [b"", b"hsqs", IMAGE, b"\x7fELF" + b"\0" * 99, b"\x7fELF\2\1"])
def test_other_files_begin_at_their_first_byte(octets):
    assert file_system_at(octets) == 0


@pytest.mark.parametrize(
    ("octets", "message", "remedy"),
    [
        (b"\x7fELF\2\1\1\0AI\2", "the ELF header at byte .* is outside", "build it again"),
        (b"\x7fELF\2\1\1\0AI\1" + IMAGE, "type 1, an ISO 9660 image", "--appimage-extract"),
        (program() + b"DWARFS" + IMAGE, "no squashfs at byte 448", "build it again"),
        (program(), "cut off: it has 448 bytes, and its program ends at byte 448", "copy it"),
        (program(last=(1 << 40, 9)) + IMAGE, "program ends at byte 1,099,511,627,785", "copy it"),
        (program(last=(2**64 - 1, 2**64 - 1)) + IMAGE, "the AppImage is cut off", "copy it"),
        (program(number=0) + IMAGE, "no table of sections", "build it again"),
        (program(number=0xFFFF) + IMAGE, "the last section of .* is outside", "build it again"),
        (program(sections_at=2**64 - 1) + IMAGE, "the last section of .* is outside", "build it"),
    ],
)
def test_a_damaged_appimage_is_refused_with_a_remedy(octets, message, remedy):
    with pytest.raises(ImageError, match=message) as caught:
        file_system_at(octets)
    assert remedy in caught.value.remedy


@given(st.binary(max_size=120), st.integers(0, 70), st.binary(min_size=1, max_size=20))
@example(b"", 40, b"\xff" * 8)
def test_any_program_gives_a_squashfs_within_the_file_or_an_error(rest, at, changed):
    octets = bytearray(program() + IMAGE + rest)
    octets[at : at + len(changed)] = changed
    try:
        place = file_system_at(octets)
    except ImageError as error:
        assert error.remedy
    else:
        assert place == 0 or octets[place : place + 4] == b"hsqs"


def test_a_bad_superblock_inside_is_refused_as_in_an_image(tmp_path):
    make_tree(tmp_path / "tree")
    octets = bytearray(squashfs(tmp_path / "tree", tmp_path / "image").read_bytes())
    octets[12:16] = b"\xff" * 4
    whole = program() + octets
    with memoryview(whole)[file_system_at(whole) :] as part, pytest.raises(ImageError) as caught:
        read_squashfs(part)
    assert "a block size of" in str(caught.value)
