"""Small programs for the emulation of the kernel's readahead, written as calls."""

from __future__ import annotations

import numpy as np

from foreread.emulator.linux.operations import FILE, MAPPING, OPERATION, MapFlag, Op, Program

PAGE = 4096
BIG = 1 << 20  # pages of a file of which no end is met


class Script:
    """Collects operations; every method that makes something returns its row."""

    def __init__(self) -> None:
        self.files: list[tuple[int, int, int, int]] = []
        self.handles: list[int] = []
        self.mappings: list[tuple[int, int, int, int, int]] = []
        self.operations: list[tuple[int, int, int, int, int]] = []

    def file(self, pages: int = BIG, *, large: bool = False, block: int = 0) -> int:
        return self.sized(pages * PAGE, large=large, block=block)

    def sized(self, size: int, *, large: bool = False, block: int = 0) -> int:
        self.files.append((size, int(large), block, -1))
        return len(self.files) - 1

    def open(self, file: int) -> int:
        self.handles.append(file)
        self.operations.append((Op.OPEN, len(self.handles) - 1, 0, 0, 0))
        return len(self.handles) - 1

    def map(
        self, handle: int, start: int, pages: int, flags: int = 0, address: int | None = None
    ) -> int:
        at = start if address is None else address
        self.mappings.append((handle, start, pages, at, flags))
        return len(self.mappings) - 1

    def read(self, handle: int, page: int, pages: int = 1) -> Script:
        return self.read_bytes(handle, page * PAGE, pages * PAGE)

    def read_bytes(self, handle: int, position: int, count: int) -> Script:
        self.operations.append((Op.READ, handle, 0, position, count))
        return self

    def touch(self, mapping: int, page: int, *, write: bool = False) -> Script:
        self.operations.append((Op.FAULT, 0, mapping, page, int(write)))
        return self

    def advise(self, op: Op, handle: int, start: int = 0, pages: int = 0) -> Script:
        self.operations.append((op, handle, 0, start, pages))
        return self

    def program(self) -> Program:
        return Program(
            np.array(self.operations, OPERATION),
            np.array(self.mappings, MAPPING),
            np.array(self.handles, np.uint32),
            np.array(self.files, FILE),
        )


__all__ = ["BIG", "PAGE", "MapFlag", "Op", "Script"]
