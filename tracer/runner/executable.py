"""Writes a static ELF executable that does given steps in order, without a compiler.

It is straight-line machine code: no library, no loader, no loop. It exits with status 0 after the
last step, and with FAILED + the kind of the call as soon as one fails. The touches of a mapping
happen in their order, each of them one instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import pack

from foreread.tracer.error import RecordError
from foreread.tracer.runner.machines import CODES, Code, code_of
from foreread.tracer.runner.numbers import EXIT
from foreread.tracer.runner.steps import Advice, Advise, Map, Open, Pause, Read, Step, Touch

FAILED = {"openat": 101, "dup3": 102, "mmap": 103, "madvise": 104, "pread64": 105, "fadvise64": 106}
# Below what programs map, which is from 512 MiB on.
_LOADED = 0x1000_0000
_BUFFER, _BUFFER_BYTES = 0x1800_0000, 0x0080_0000
_ELF_HEAD = {4: 52, 8: 64}
_PROGRAM_HEAD = {4: 32, 8: 56}
_ALIGNED = 0x10000  # the largest page of any machine
_PT_LOAD, _PT_GNU_STACK = 1, 0x6474E551
_R_X, _RW = 5, 6
_PROT_READ, _PROT_WRITE, _PROT_EXEC = 1, 2, 4
_SHARED, _PRIVATE, _FIXED = 1, 2, 0x10


def executable(steps: Sequence[Step], machine: str, order: str, pause_ms: int = 10) -> bytes:
    """Return the program for ``machine`` (``uname -m``) of byte order ``order``.

    Raises RecordError for a machine whose code is unknown.
    """
    code = code_of(machine, order)
    if code is None:
        names = ", ".join(sorted({name for name, _ in CODES}))
        raise RecordError(
            f"foreread has no program runner for {machine} ({order}-endian)",
            f"it has runners for {names}; on others compare a recording with a sweep: foreread "
            "predict CAPTURE --measured SWEEP",
        )
    return _Writer(code, pause_ms).whole(steps)


class _Writer:
    """Collects code, and the constants that it points to, which precede it in the file."""

    def __init__(self, code: Code, pause_ms: int) -> None:
        self._code = code
        self._start = _ELF_HEAD[code.word] + 2 * _PROGRAM_HEAD[code.word]
        self._data = bytearray()
        self._pause = self._constant(self._longs(pause_ms // 1000, pause_ms % 1000 * 1_000_000))

    def whole(self, steps: Sequence[Step]) -> bytes:
        text = b"".join([self._buffer(), *map(self._step, steps), self._call(EXIT, 0)])
        self._data += bytes(-len(self._data) % 16)
        entry = _LOADED + self._start + len(self._data)
        body = bytes(self._data) + text
        return self._heads(entry, self._start + len(body)) + body

    def _step(self, step: Step) -> bytes:
        match step:
            case Open(fd, path):
                return self._open(fd, path)
            case Read(fd, at, length):
                values = {"fd": fd, "buffer": _BUFFER, "length": min(length, _BUFFER_BYTES)}
                return self._checked("pread64", *self._named(self._code.pread, values, at=at))
            case Map():
                return self._map(step)
            case Touch(address, write):
                return self._code.touch(address, write)
            case Advise(fd, advice, at, length):
                values = {"fd": fd, "advice": int(advice)}
                words = self._named(self._code.fadvise, values, at=at, length=length)
                return self._checked("fadvise64", *words)
            case Pause():
                return self._call("nanosleep", self._pause, 0)

    def _named(
        self, names: Sequence[str], values: dict[str, int], **wide: int
    ) -> Iterator[int | None]:
        """Yield arguments by name; 64-bit ones may be in halves, all below 2**31."""
        for name in names:
            whole, _, half = name.partition(" ")
            if half == "high" or name == "none":
                yield 0
            elif half or (whole in wide and whole not in values):
                yield wide[whole]
            else:
                yield values[name]

    def _open(self, fd: int, path: str) -> bytes:
        where = self._constant(path.encode(errors="surrogateescape") + b"\0")
        opened = self._checked("openat", 0, where, 0, 0)
        return opened + self._code.pass_on + self._checked("dup3", None, fd, 0)

    def _buffer(self) -> bytes:
        flags = _PRIVATE | _FIXED | self._code.anonymous
        # The descriptor of an anonymous mapping is ignored: 0 will do.
        return self._mmap(_BUFFER, _BUFFER_BYTES, _PROT_READ | _PROT_WRITE, flags, 0, 0)

    def _map(self, step: Map) -> bytes:
        protection = _PROT_READ
        if step.executable:
            protection |= _PROT_EXEC
        elif not step.shared:
            protection |= _PROT_WRITE
        flags = _FIXED | (_SHARED if step.shared else _PRIVATE)
        code = self._mmap(step.address, step.length, protection, flags, step.fd, step.at)
        if step.advice != Advice.NORMAL:
            code += self._checked("madvise", step.address, step.length, step.advice)
        return code

    def _mmap(self, *arguments: int) -> bytes:
        *first, at = arguments
        words = [*first, at // self._code.offset_unit]
        if self._code.mmap_arguments:
            return self._checked("mmap", self._constant(self._longs(*words)))
        return self._checked("mmap", *words)

    def _checked(self, name: str, *arguments: int | None) -> bytes:
        failed = self._call(EXIT, FAILED[name])
        return self._call(name, *arguments) + self._code.skip_unless_failed(failed)

    def _call(self, name: str, *arguments: int | None) -> bytes:
        return self._code.call(self._code.number[name], list(arguments))

    def _constant(self, value: bytes) -> int:
        """Add bytes that the program needs in memory; return their address."""
        self._data += bytes(-len(self._data) % 8)
        at = _LOADED + self._start + len(self._data)
        self._data += value
        return at

    def _longs(self, *values: int) -> bytes:
        letter = "Q" if self._code.word == 8 else "I"
        return pack(f"{self._sign}{len(values)}{letter}", *values)

    @property
    def _sign(self) -> str:
        return "<" if self._code.order == "little" else ">"

    def _heads(self, entry: int, size: int) -> bytes:
        """Return the ELF header and two program headers (elf(5)).

        Without PT_GNU_STACK whatever is mapped to be read would be executable, which decides what
        newer kernels read.
        """
        code, word = self._code, self._code.word
        identity = b"\x7fELF" + bytes([word // 4, 1 if code.order == "little" else 2, 1]) + bytes(9)
        letter = "Q" if word == 8 else "I"
        head = identity + pack(
            f"{self._sign}HHI{letter}{letter}{letter}IHHHHHH",
            *(2, code.machine, 1, entry, _ELF_HEAD[word], 0, code.flags),
            *(_ELF_HEAD[word], _PROGRAM_HEAD[word], 2, 0, 0, 0),
        )
        load = self._segment(_PT_LOAD, _R_X, _LOADED, size, _ALIGNED)
        return head + load + self._segment(_PT_GNU_STACK, _RW, 0, 0, 16)

    def _segment(self, kind: int, flags: int, address: int, size: int, align: int) -> bytes:
        places = (0, address, address, size, size)
        if self._code.word == 8:
            return pack(f"{self._sign}II6Q", kind, flags, *places, align)
        return pack(f"{self._sign}I5III", kind, *places, flags, align)
