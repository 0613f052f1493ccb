"""The machine code of each architecture that a runner has: constants, system calls, touches.

Every constant is from 0 to 2**31 - 1. Encodings: the manuals of the architectures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import pack
from typing import Literal

from foreread.tracer.runner import numbers

_MMAP2_UNIT = 4096  # mmap2(2) counts the offset in these, whatever the page size


@dataclass(frozen=True)
class Code:
    """The instructions of one architecture.

    ``number`` are the system calls. ``call`` takes a number and its arguments. After a call,
    ``skip_unless_failed`` jumps over the bytes that it is given, unless the call failed;
    ``pass_on`` makes the result the first argument of the next call, whose other arguments
    ``call`` sets with None for the first.
    """

    machine: int  # e_machine (include/uapi/linux/elf-em.h)
    word: Literal[4, 8]  # size of a long
    number: Mapping[str, int]
    call: Callable[[int, list[int | None]], bytes]
    skip_unless_failed: Callable[[bytes], bytes]
    touch: Callable[[int, bool], bytes]
    pass_on: bytes = b""
    flags: int = 0  # e_flags
    order: Literal["little", "big"] = "little"
    anonymous: int = 0x20  # MAP_ANONYMOUS
    mmap_arguments: bool = False  # mmap(2) takes the address of its arguments
    offset_unit: int = 1
    # The arguments of pread64 and fadvise64, in the order of the registers: named below.
    pread: tuple[str, ...] = ("fd", "buffer", "length", "at")
    fadvise: tuple[str, ...] = ("fd", "at", "length", "advice")


def _words(*words: int, order: str = "<") -> bytes:
    return pack(f"{order}{len(words)}I", *words)


# ---- x86_64 (little-endian; Intel SDM volume 2)

_X86_64_MOV = (b"\xbf", b"\xbe", b"\xba", b"\x41\xba", b"\x41\xb8", b"\x41\xb9")


def _x86_64_call(number: int, arguments: list[int | None]) -> bytes:
    code = b"".join(
        mov + pack("<I", value)  # a 32-bit move clears the upper half
        for mov, value in zip(_X86_64_MOV, arguments, strict=False)
        if value is not None
    )
    return code + b"\xb8" + pack("<I", number) + b"\x0f\x05"


def _x86_64_skip(rest: bytes) -> bytes:
    return b"\x48\x85\xc0\x79" + bytes([len(rest)]) + rest  # test rax, rax; jns


def _x86_touch(address: int, write: bool) -> bytes:
    return b"\xb8" + pack("<I", address) + (b"\xc6\x00\x01" if write else b"\x8a\x00")


# ---- i386

_I386_MOV = (b"\xbb", b"\xb9", b"\xba", b"\xbe", b"\xbf", b"\xbd")


def _i386_call(number: int, arguments: list[int | None]) -> bytes:
    code = b"".join(
        mov + pack("<I", value)
        for mov, value in zip(_I386_MOV, arguments, strict=False)
        if value is not None
    )
    return code + b"\xb8" + pack("<I", number) + b"\xcd\x80"


def _i386_skip(rest: bytes) -> bytes:
    # cmp eax, -4096; jbe: an address in the upper half is not an error
    return b"\x3d\x00\xf0\xff\xff\x76" + bytes([len(rest)]) + rest


# ---- aarch64 (Arm ARM, A64)


def _a64_load(register: int, value: int) -> bytes:
    low = 0xD2800000 | (value & 0xFFFF) << 5 | register  # movz
    high = 0xF2A00000 | (value >> 16) << 5 | register  # movk, lsl 16
    return _words(low, high) if value >> 16 else _words(low)


def _a64_call(number: int, arguments: list[int | None]) -> bytes:
    code = b"".join(_a64_load(r, v) for r, v in enumerate(arguments) if v is not None)
    return code + _a64_load(8, number) + _words(0xD4000001)  # svc 0


def _a64_skip(rest: bytes) -> bytes:
    return _words(0xB6F80000 | (len(rest) // 4 + 1) << 5) + rest  # tbz x0, #63


def _a64_touch(address: int, write: bool) -> bytes:
    return _a64_load(0, address) + _words(0x39000001 if write else 0x39400001)  # strb, ldrb w1


# ---- riscv64 (RISC-V unprivileged ISA, RV64I)


def _rv_load(register: int, value: int) -> bytes:
    low = value & 0xFFF
    upper = (value + 0x800 >> 12) & 0xFFFFF
    if not upper:
        return _words(low << 20 | register << 7 | 0x13)  # addi rd, x0
    lui = upper << 12 | register << 7 | 0x37
    return _words(lui, low << 20 | register << 15 | register << 7 | 0x1B)  # addiw


def _rv_call(number: int, arguments: list[int | None]) -> bytes:
    code = b"".join(_rv_load(10 + r, v) for r, v in enumerate(arguments) if v is not None)
    return code + _rv_load(17, number) + _words(0x73)  # ecall


def _rv_skip(rest: bytes) -> bytes:
    offset = len(rest) + 4
    return _words((offset >> 5) << 25 | 10 << 15 | 5 << 12 | (offset & 0x1E) << 7 | 0x63) + rest


def _rv_touch(address: int, write: bool) -> bytes:
    access = 11 << 20 | 10 << 15 | 0x23 if write else 10 << 15 | 4 << 12 | 11 << 7 | 0x03
    return _rv_load(10, address) + _words(access)  # sb a1 or lbu a1


# ---- arm, EABI (Arm ARM, A32; also without movw)


def _arm_load(register: int, value: int) -> bytes:
    if value < 256:
        return _words(0xE3A00000 | register << 12 | value)  # mov
    return _words(0xE59F0000 | register << 12, 0xEA000000, value)  # ldr [pc]; b over the word


def _arm_call(number: int, arguments: list[int | None]) -> bytes:
    code = b"".join(_arm_load(r, v) for r, v in enumerate(arguments) if v is not None)
    return code + _arm_load(7, number) + _words(0xEF000000)  # svc 0


def _arm_skip(rest: bytes) -> bytes:
    # cmn r0, #4096; bls
    return _words(0xE3700A01, 0x9A000000 | len(rest) // 4 - 1 & 0xFFFFFF) + rest


def _arm_touch(address: int, write: bool) -> bytes:
    return _arm_load(0, address) + _words(0xE5C01000 if write else 0xE5D01000)  # strb, ldrb r1


# ---- mips, o32 (MIPS32 ISA); arguments from the fifth on are on the stack


def _mips_load(register: int, value: int) -> list[int]:
    return [0x3C000000 | register << 16 | value >> 16, _ori(register, value & 0xFFFF)]


def _ori(register: int, low: int) -> int:
    return 0x34000000 | register << 21 | register << 16 | low


def _mips_call(order: str) -> Callable[[int, list[int | None]], bytes]:
    def call(number: int, arguments: list[int | None]) -> bytes:
        code: list[int] = []
        for row, value in enumerate(arguments):
            if value is None:
                continue
            if row < 4:
                code += _mips_load(4 + row, value)
            else:  # through $8: sw $8, 4 * row($29)
                code += [*_mips_load(8, value), 0xAFA80000 | 4 * row]
        return _words(*code, *_mips_load(2, number), 0x0000000C, order=order)

    return call


def _mips_skip(order: str) -> Callable[[bytes], bytes]:
    # beq $7, $0, over the rest; nop
    return lambda rest: _words(0x10E00000 | len(rest) // 4 + 1, 0, order=order) + rest


def _mips_touch(order: str) -> Callable[[int, bool], bytes]:
    def touch(address: int, write: bool) -> bytes:
        return _words(*_mips_load(8, address), 0xA1090000 if write else 0x91090000, order=order)

    return touch


# ---- s390x (z/Architecture principles of operation)


def _s390_load(register: int, value: int) -> bytes:
    return bytes([0xC0, register << 4 | 1]) + pack(">I", value)  # lgfi


def _s390_call(number: int, arguments: list[int | None]) -> bytes:
    code = b"".join(_s390_load(2 + r, v) for r, v in enumerate(arguments) if v is not None)
    return code + _s390_load(1, number) + b"\x0a\x00"  # svc 0: the number is in r1


def _s390_skip(rest: bytes) -> bytes:
    # ltgr r2, r2; jnl
    return b"\xb9\x02\x00\x22\xa7\xb4" + pack(">H", (len(rest) + 4) // 2) + rest


def _s390_touch(address: int, write: bool) -> bytes:
    return _s390_load(2, address) + (b"\x92\x01\x20\x00" if write else b"\x43\x10\x20\x00")


def _mips_code(order: Literal["little", "big"]) -> Code:
    sign = "<" if order == "little" else ">"
    halves = ("low", "high") if order == "little" else ("high", "low")
    at = tuple(f"at {half}" for half in halves)
    length = tuple(f"length {half}" for half in halves)
    return Code(
        machine=8,
        word=4,
        number=numbers.MIPS,
        call=_mips_call(sign),
        skip_unless_failed=_mips_skip(sign),
        touch=_mips_touch(sign),
        pass_on=_words(0x00402025, order=sign),  # move $4, $2
        flags=0x50001000,  # EF_MIPS_ARCH_32, EF_MIPS_ABI_O32
        order=order,
        anonymous=0x800,
        offset_unit=_MMAP2_UNIT,
        pread=("fd", "buffer", "length", "none", *at),
        fadvise=("fd", "none", *at, *length, "advice"),
    )


_HALVES = ("at low", "at high")
CODES: dict[tuple[str, str], Code] = {
    ("x86_64", "little"): Code(
        62, 8, numbers.X86_64, _x86_64_call, _x86_64_skip, _x86_touch, b"\x48\x89\xc7"
    ),
    ("aarch64", "little"): Code(183, 8, numbers.GENERIC, _a64_call, _a64_skip, _a64_touch),
    ("riscv64", "little"): Code(243, 8, numbers.GENERIC, _rv_call, _rv_skip, _rv_touch),
    ("s390x", "big"): Code(
        22,
        8,
        numbers.S390X,
        _s390_call,
        _s390_skip,
        _s390_touch,
        order="big",
        mmap_arguments=True,
    ),
    ("arm", "little"): Code(
        40,
        4,
        numbers.ARM,
        _arm_call,
        _arm_skip,
        _arm_touch,
        flags=0x05000000,  # EF_ARM_EABI_VER5
        offset_unit=_MMAP2_UNIT,
        pread=("fd", "buffer", "length", "none", *_HALVES),
        fadvise=("fd", "advice", *_HALVES, "length low", "length high"),
    ),
    ("i386", "little"): Code(
        3,
        4,
        numbers.I386,
        _i386_call,
        _i386_skip,
        _x86_touch,
        pass_on=b"\x89\xc3",
        offset_unit=_MMAP2_UNIT,
        pread=("fd", "buffer", "length", *_HALVES),
        fadvise=("fd", *_HALVES, "length low", "length high", "advice"),
    ),
    ("mips", "little"): _mips_code("little"),
    ("mips", "big"): _mips_code("big"),
}


def family(machine: str) -> str:
    """Return the name in CODES of a machine (``uname -m``)."""
    if machine.startswith("arm") and machine != "arm64":
        return "arm"
    if len(machine) == 4 and machine[0] == "i" and machine.endswith("86"):
        return "i386"
    return {"arm64": "aarch64", "mips64": "mips"}.get(machine, machine)


def code_of(machine: str, order: str) -> Code | None:
    """Return the code of a machine (``uname -m``) of that byte order; None if there is none."""
    return CODES.get((family(machine), order))
