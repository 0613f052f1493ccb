"""Where the file system of an AppImage of type 2 begins: after its ELF program, not aligned.

The program, which mounts it, looks at the same place: the end of the table of sections, or of the
last section, whichever is later (elf.c of AppImageKit, runtime.c of type2-runtime).
"""

from __future__ import annotations

import struct

from foreread.emulator.images.source import ImageError, Octets, Source

_ELF = b"\x7fELF"
_MAGIC_AT = 8  # in e_ident, where Linux does not look
_TYPE_1, _TYPE_2 = b"AI\x01", b"AI\x02"
_WIDE, _BIG_ENDIAN = 2, 2  # EI_CLASS, EI_DATA
# By width: position and format of e_shoff; of e_shentsize and e_shnum; of sh_offset and sh_size.
_NARROW_FIELDS = (32, "I"), (46, "2H"), (16, "2I")
_WIDE_FIELDS = (40, "Q"), (58, "2H"), (24, "2Q")
_EXTRACT = (
    "unpack it, and give its folder: ./NAME.AppImage --appimage-extract, then --root squashfs-root"
)


def file_system_at(octets: Octets) -> int:
    """Return the byte where the squashfs of an AppImage begins; 0 for a file that is not one.

    Raises ImageError for an AppImage that is damaged, or has another file system.
    """
    magic = octets[_MAGIC_AT : _MAGIC_AT + len(_TYPE_2)]
    if octets[: len(_ELF)] != _ELF or magic not in (_TYPE_1, _TYPE_2):
        return 0
    if magic == _TYPE_1:
        raise ImageError("an AppImage of type 1, an ISO 9660 image, has no squashfs", _EXTRACT)
    at = _end_of_program(Source(octets))
    if at >= len(octets):
        raise ImageError(
            f"the AppImage is cut off: it has {len(octets):,} bytes, and its program ends at byte "
            f"{at:,}",
            "copy it again",
        )
    if octets[at : at + 4] != b"hsqs":
        raise ImageError(f"the AppImage has no squashfs at byte {at:,}, where its program ends")
    return at


def _end_of_program(source: Source) -> int:
    """Return the byte after an ELF program."""
    octets = source.read(0, 6, "the ELF header")
    fields = _WIDE_FIELDS if octets[4] == _WIDE else _NARROW_FIELDS
    order = ">" if octets[5] == _BIG_ENDIAN else "<"
    (table_at, table), (counts_at, counts), (place_at, place) = fields

    def unpacked(form: str, at: int, what: str) -> tuple[int, ...]:
        return source.unpack(struct.Struct(order + form), at, what)

    (sections_at,) = unpacked(table, table_at, "the ELF header")
    each, number = unpacked(counts, counts_at, "the ELF header")
    if not number:
        raise ImageError("damaged image: the AppImage's program has no table of sections")
    last = sections_at + each * (number - 1)
    begin, size = unpacked(place, last + place_at, "the last section of the AppImage's program")
    return max(sections_at + each * number, begin + size)
