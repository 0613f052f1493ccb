"""A generated program: its operations on its own file."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foreread.boards.base.counted import plural
from foreread.emulator.linux.operations import FILE, MAPPING, OPERATION, MapFlag, Op, Program

# Each mapping is in its own piece, below 2 GiB on any machine, and apart from the runner
# itself (tracer/runner/executable.py).
MAPPED, PIECE, MOST_MAPPINGS = 0x2000_0000, 0x0100_0000, 60
_OFFSETS = 16  # number of pages of its piece at which a mapping may begin

Operation = tuple[Op, int, int, int, int]  # op, handle, mapping, at, length, as in OPERATION


@dataclass
class Task:
    """A program on a file of ``size`` bytes that no other program opens; ``name`` describes it.

    Each method adds an operation. ``mappings`` are (handle, first page, pages, flags).
    """

    name: str
    size: int
    page_size: int
    handles: int = 0
    mappings: list[tuple[int, int, int, MapFlag]] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    @property
    def pages(self) -> int:
        """The pages of the file."""
        return -(-self.size // self.page_size)

    def open(self) -> int:
        """Open the file once more; return the handle."""
        self.handles += 1
        self.operations.append((Op.OPEN, self.handles - 1, 0, 0, 0))
        return self.handles - 1

    def map(self, handle: int, start: int = 0, pages: int = 0, flags: int = 0) -> int:
        """Map pages of the file, by default all; return the number of the mapping."""
        self.mappings.append((handle, start, pages or self.pages - start, MapFlag(flags)))
        return len(self.mappings) - 1

    def read(self, handle: int, at: int, length: int) -> None:
        """Read ``length`` bytes at ``at``."""
        self.operations.append((Op.READ, handle, 0, at, length))

    def touch(self, mapping: int, page: int, write: bool = False) -> None:
        """Touch a page of the file through a mapping."""
        self.operations.append((Op.FAULT, 0, mapping, page, int(write)))

    def advise(self, op: Op, handle: int, start: int = 0, pages: int = 0) -> None:
        """Give advice, POSIX_FADV_*."""
        self.operations.append((op, handle, 0, start, pages))

    def program(self, first_mapping: int, large_folios: bool) -> Program:
        """Return the program for the emulation; ``first_mapping`` numbers its first mapping."""
        rows = [
            (handle, start, pages, self.address(first_mapping + row) // self.page_size, flags)
            for row, (handle, start, pages, flags) in enumerate(self.mappings)
        ]
        return Program(
            np.array(self.operations, OPERATION),
            np.array(rows, MAPPING),
            np.zeros(self.handles, np.uint32),
            np.array([(self.size, large_folios, 0, -1)], FILE),
        )

    def describe(self, step: int) -> str:
        """Return the operation in row ``step`` in words."""
        op, handle, _, at, length = self.operations[step]
        by = f" (descriptor {handle + 1})" if self.handles > 1 else ""
        match op:
            case Op.OPEN:
                return f"opens the file{by}"
            case Op.READ:
                return f"reads {length} bytes from byte {at} on{by}"
            case Op.FAULT:
                return f"{'writes to' if length else 'touches'} page {at} through a mapping"
            case Op.WILLNEED:
                return (
                    f"asks for {plural(length, 'page')} from page {at} on (POSIX_FADV_WILLNEED){by}"
                )
        return f"advises POSIX_FADV_{op.name}{by}"

    def address(self, number: int) -> int:
        """Return the address of mapping ``number`` of all programs, in bytes."""
        return MAPPED + number * PIECE + number * 7 % _OFFSETS * self.page_size
