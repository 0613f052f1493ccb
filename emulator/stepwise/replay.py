"""A program under one window, in plain Python; core/linux/run.c does the same for production.

One pass over the operations for one window, with the kernel's own functions in Python.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from foreread.emulator.linux.operations import Machine, MapFlag, Op, Outcome, Program
from foreread.emulator.linux.rules import Rules
from foreread.emulator.stepwise import ondemand, reads
from foreread.emulator.stepwise.cache import Folio
from foreread.emulator.stepwise.faults import Mapping, fault
from foreread.emulator.stepwise.inode import Inode
from foreread.emulator.stepwise.kernel import Kernel, Needed, OpenFile
from foreread.emulator.stepwise.window import State

_UNKNOWN_SIZE = 1 << 48  # bytes: no clip at the end of the file


def emulate(program: Program, rules: Rules, window: int, machine: Machine | None = None) -> Outcome:
    """Return the reads of a kernel of ``rules`` with a window of ``window`` pages."""
    return Replay(program, rules, window, machine or Machine()).run()


class Replay:
    """The state of all files while a program runs."""

    def __init__(self, program: Program, rules: Rules, window: int, machine: Machine) -> None:
        self.kernel = Kernel(rules, machine, window)
        self.kernel.limit_memory()
        self.program = program
        self.inodes = [
            _inode(row, file, machine) for row, file in enumerate(program.files.tolist())
        ]
        self.files = [self._opened(row) for row in program.handles.tolist()]
        self.mappings = [
            self._mapping(row, *mapping) for row, mapping in enumerate(program.mappings.tolist())
        ]

    def run(self) -> Outcome:
        """Do all operations."""
        for operation in self.program.operations.tolist():
            deque(self.do(*operation), maxlen=0)  # all needed pages are usable at once
        return self.kernel.outcome

    def do(self, op: int, handle: int, mapping: int, at: int, length: int) -> Iterator[Needed]:
        """Do one operation (OPERATION); yield the pages that the operation waits for."""
        if op == Op.FAULT:
            yield from fault(self.kernel, self.mappings[mapping], at, write=length > 0)
        elif op == Op.OPEN:
            self.files[handle].state = State(self._window(self.files[handle].inode))
        elif op == Op.READ:
            yield from reads.read(self.kernel, self.files[handle], at, length)
        elif op == Op.WILLNEED:
            ondemand.willneed(self.kernel, self.files[handle], at, length)
        elif op == Op.SINGLE:
            self.kernel.read_single(OpenFile(self.inodes[handle], State(0)), at)
            if self.kernel.memory is not None:
                self.kernel.memory.read(self.inodes[handle], at)
            yield self.inodes[handle], at, at + 1
        elif op == Op.PRESENT:
            for page in range(at, at + length):
                self.kernel.enter(self.inodes[handle], Folio(page, 0))
        else:
            self._advise(self.files[handle], op)

    def _window(self, inode: Inode) -> int:
        """Return the ra_pages of the file's bdi."""
        if inode.block_pages and not self.kernel.rules.block_window:
            return 0
        return self.kernel.window if inode.window < 0 else inode.window

    def _advise(self, file: OpenFile, advice: int) -> None:
        """generic_fadvise."""
        state, window = file.state, self._window(file.inode)
        flag = self.kernel.rules.random_flag
        if advice == Op.RANDOM:
            state.random = flag
            state.pages = state.pages if flag else 0
        else:
            state.random = False
            state.pages = 2 * window if advice == Op.SEQUENTIAL else window

    def _opened(self, row: int) -> OpenFile:
        return OpenFile(self.inodes[row], State(self._window(self.inodes[row])))

    def _mapping(
        self, row: int, handle: int, start: int, pages: int, address: int, flags: int
    ) -> Mapping:
        return Mapping(self.files[handle], start, pages, address, MapFlag(flags), row=row)


def _inode(row: int, file: Sequence[int], machine: Machine) -> Inode:
    size, large, block_pages, window = file
    size = _UNKNOWN_SIZE if size < 0 else size
    return Inode(row, size, -(-size // machine.page_size) - 1, bool(large), block_pages, window)


def pages_of(outcome: Outcome) -> set[tuple[int, int]]:
    """Return the set of (file, page) that an outcome read."""
    return {
        (file, page)
        for file, index, order, run in outcome.inserts
        if run not in outcome.empty
        for page in range(index, index + (1 << order))
    }
