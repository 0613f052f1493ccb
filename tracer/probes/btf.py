"""Reads where a struct's members lie from a kernel's BTF (/sys/kernel/btf/vmlinux).

Layout: include/uapi/linux/btf.h and Documentation/bpf/btf.rst, Linux 5.2 to 6.19; of either
byte order. The bytes come from a target and are not trusted: every read is bounded.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from foreread.tracer.probes.error import ProbeError

_MAGIC = 0xEB9F
_INT, _ARRAY, _STRUCT, _UNION, _ENUM = 1, 3, 4, 5, 6
_TYPEDEF, _VOLATILE, _CONST, _RESTRICT = 8, 9, 10, 11
_FUNC_PROTO, _VAR, _DATASEC, _DECL_TAG, _TYPE_TAG, _ENUM64 = 13, 14, 15, 17, 18, 19
_LAST_KIND = _ENUM64
_NAMES_ANOTHER = (_TYPEDEF, _VOLATILE, _CONST, _RESTRICT, _TYPE_TAG)
# Bytes after struct btf_type: once, and per item counted in vlen.
_TAIL = {_INT: 4, _ARRAY: 12, _VAR: 4, _DECL_TAG: 4}
_ITEM = {_STRUCT: 12, _UNION: 12, _ENUM: 8, _FUNC_PROTO: 8, _DATASEC: 12, _ENUM64: 12}
_TYPE_BYTES = 12
_MOST_MEMBERS = 100_000  # real structs stay far below; stops at cyclic types
_MOST_MODIFIERS = 16


@dataclass(frozen=True)
class _Member:
    name_at: int  # in the strings; 0 if unnamed
    type: int
    bits: int  # from the start of the containing struct
    is_bitfield: bool


class Btf:
    """One kernel's types; raises ProbeError for bytes that are not BTF, or damaged."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._order = _byte_order(data)
        _, _, _, head, *sections = self._unpack("HBBIIIII", 0)
        type_at, type_size, string_at, string_size = sections
        self._types = range(head + type_at, head + type_at + type_size)
        self._strings = data[head + string_at : head + string_at + string_size]
        if max(self._types.stop, head + string_at + string_size) > len(data):
            raise _damaged("it ends too early")
        self._at = [0]  # by type id; 0 is void
        self._structs: dict[bytes, list[int]] = {}
        self._index()

    def offset(self, path: str) -> int:
        """Return where "struct.member" is, in bytes from the struct's start.

        A member of an anonymous struct or union inside is found too. Raises ProbeError if the
        struct has no such member, or several that differ.
        """
        name, _, member = path.partition(".")
        structs = self._structs.get(name.encode(), [])
        offsets = {bits for type_ in structs for bits in self._find(type_, member.encode())}
        if len(offsets) != 1 or min(offsets) % 8:
            what = "no single" if offsets else "no"
            raise ProbeError(f"the kernel's BTF has {what} member {path}", _REMEDY)
        return offsets.pop() // 8

    def _unpack(self, layout: str, at: int) -> tuple[int, ...]:
        try:
            return struct.unpack_from(self._order + layout, self._data, at)
        except struct.error:
            raise _damaged("it ends too early") from None

    def _index(self) -> None:
        """Note where each type is, in the order of their ids from 1 on, and the structs' names."""
        at, end = self._types.start, self._types.stop
        head_of = struct.Struct(self._order + "III").unpack_from
        while at < end:
            if end - at < _TYPE_BYTES:
                raise _damaged("a type is cut off")
            name_at, info, _ = head_of(self._data, at)
            kind = _kind(info)
            if not 0 < kind <= _LAST_KIND:
                raise _damaged(f"kind {kind} is unknown")
            if kind == _STRUCT and name_at:
                self._structs.setdefault(self._string(name_at), []).append(len(self._at))
            self._at.append(at)
            at += _TYPE_BYTES + _TAIL.get(kind, 0) + _ITEM.get(kind, 0) * (info & 0xFFFF)
        if at != end:
            raise _damaged("a type is cut off")

    def _string(self, at: int) -> bytes:
        end = self._strings.find(b"\0", at)
        return self._strings[at:end] if at <= end else b""

    def _find(self, type_: int, wanted: bytes) -> Iterator[int]:
        """Yield the place in bits of the wanted member, also in anonymous members."""
        waiting, seen = [(type_, 0)], 0
        while waiting:
            inside, start = waiting.pop()
            for member in self._members(inside):
                seen += 1
                if member.name_at == 0:
                    waiting.append((self._unmodified(member.type), start + member.bits))
                elif not member.is_bitfield and self._string(member.name_at) == wanted:
                    yield start + member.bits
            if seen > _MOST_MEMBERS:
                raise _damaged("a struct has too many members")

    def _members(self, type_: int) -> Iterator[_Member]:
        _, info, _ = self._type(type_)
        if _kind(info) not in (_STRUCT, _UNION):
            return
        start = self._at[type_] + _TYPE_BYTES
        for at in range(start, start + 12 * (info & 0xFFFF), 12):
            name_at, member_type, place = self._unpack("III", at)
            bits, size = (place & 0xFFFFFF, place >> 24) if info >> 31 else (place, 0)
            yield _Member(name_at, member_type, bits, size != 0)

    def _unmodified(self, type_: int) -> int:
        """Return the type without const, volatile, typedef."""
        for _ in range(_MOST_MODIFIERS):
            _, info, target = self._type(type_)
            if _kind(info) not in _NAMES_ANOTHER:
                return type_
            type_ = target
        raise _damaged("types name each other in a circle")

    def _type(self, type_: int) -> tuple[int, ...]:
        if not 0 < type_ < len(self._at):
            raise _damaged(f"there is no type {type_}")
        return self._unpack("III", self._at[type_])


_REMEDY = "record without probes, or take offsets from the kernel's tree: see Probes in the guide"


def _kind(info: int) -> int:
    return info >> 24 & 0x1F


def _byte_order(data: bytes) -> str:
    for order in "<>":
        if data[:2] == struct.pack(f"{order}H", _MAGIC):
            return order
    raise _damaged("it does not begin as BTF does")


def _damaged(why: str) -> ProbeError:
    return ProbeError(f"the kernel's BTF cannot be read: {why}", _REMEDY)
