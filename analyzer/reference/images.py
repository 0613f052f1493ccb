"""The struct file that a thread reads from, and the mapping through which it faults.

An image is the set of open files and mappings of a process; threads share it. A child that is not a
thread has copies, of the same struct files. Descriptors and addresses are the application's numbers
and may be wrong: numbers that contradict the seen pages are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from foreread.emulator.linux.operations import MapFlag

PROT_EXEC = 4
MAP_SHARED = 1
MAP_ANONYMOUS = 0x20
MADV_RANDOM, MADV_SEQUENTIAL, MADV_NORMAL, MADV_HUGEPAGE, MADV_NOHUGEPAGE = 1, 2, 0, 14, 15
_ADVICE = {
    MADV_NORMAL: (MapFlag.RANDOM | MapFlag.SEQUENTIAL, MapFlag(0)),
    MADV_RANDOM: (MapFlag.SEQUENTIAL, MapFlag.RANDOM),
    MADV_SEQUENTIAL: (MapFlag.RANDOM, MapFlag.SEQUENTIAL),
    MADV_HUGEPAGE: (MapFlag(0), MapFlag.HUGE),
    MADV_NOHUGEPAGE: (MapFlag.HUGE, MapFlag(0)),
}
UNKNOWN = -1  # row of a struct file without a page seen


@dataclass(slots=True)
class Handle:
    """A struct file; ``file`` is the row of its file, None until a page of the file is seen.

    ``advice`` (an Op) was given before that.
    """

    row: int
    file: int | None = None
    position: int = 0
    advice: int | None = None


@dataclass(slots=True)
class Area:
    """A VMA: pages of a file at virtual pages [first, end); ``row`` once it has been used."""

    first: int
    end: int
    handle: Handle
    start: int  # page of the file at ``first``
    flags: MapFlag
    row: int | None = None

    def holds(self, page: int) -> bool:
        """Return whether a page of the file is mapped here."""
        return self.start <= page < self.start + self.end - self.first

    def copied(self) -> Area:
        """Return the copy of a child: it has its own page table, and shares the struct file."""
        return Area(self.first, self.end, self.handle, self.start, self.flags)

    def part(self, first: int, end: int, flags: MapFlag | None = None) -> Area:
        """Return a part of the mapping, as a separate mapping."""
        new = self.flags if flags is None else flags
        same = (first, end, new) == (self.first, self.end, self.flags)
        start = self.start + first - self.first
        return Area(first, end, self.handle, start, new, self.row if same else None)


@dataclass
class Image:
    """The struct files by descriptor and the mappings of a process, the latest last."""

    descriptors: dict[int, Handle] = field(default_factory=dict)
    closing: set[int] = field(default_factory=set)  # descriptors that exec closes
    others: dict[int, Handle] = field(default_factory=dict)  # by file: read without a descriptor
    areas: list[Area] = field(default_factory=list)
    _near: dict[int, Area] = field(default_factory=dict)  # by file: the last result of find

    def find(self, file: int, page: int) -> Area | None:
        """Return the latest mapping of a page, or a mapping of a still unknown file."""
        near = self._near.get(file)
        if near is not None and near.holds(page):
            return near
        area = self._search(file, page)
        if area is not None:
            self._near[file] = area
        return area

    def _search(self, file: int, page: int) -> Area | None:
        for area in reversed(self.areas):
            if area.handle.file == file and area.holds(page):
                return area
        for area in reversed(self.areas):
            if area.handle.file is None and area.holds(page):
                area.handle.file = file
                return area
        return None

    def forked(self, *, files: bool, memory: bool) -> Image:
        """Return a child's image, which shares descriptors (CLONE_FILES) or mappings (CLONE_VM).

        It has copies of the rest, with the same struct files.
        """
        child = Image(dict(self.descriptors), set(self.closing), dict(self.others))
        if files:
            child.descriptors, child.closing = self.descriptors, self.closing
        if memory:
            child.others, child.areas, child._near = self.others, self.areas, self._near
        else:
            child.areas = [area.copied() for area in self.areas]
        return child

    def executed(self, kernel_reads: dict[int, Handle]) -> Image:
        """Return a new program's image: the descriptors that exec keeps, and the files it read."""
        kept = {d: handle for d, handle in self.descriptors.items() if d not in self.closing}
        return Image(kept, others=kernel_reads)

    def put(self, descriptor: int, handle: Handle, *, closing: bool) -> None:
        """Give a struct file a descriptor; ``closing``: exec closes it."""
        self.descriptors[descriptor] = handle
        (self.closing.add if closing else self.closing.discard)(descriptor)

    def duplicate(self, descriptor: int, new: int, *, closing: bool) -> None:
        """Make ``new`` a descriptor of the same struct file; an unknown one stays unknown."""
        handle = self.descriptors.get(descriptor)
        if handle is None:
            self.close(new)
        else:
            self.put(new, handle, closing=closing)

    def close(self, descriptor: int) -> None:
        """Remove a descriptor; mappings keep their struct file."""
        self.descriptors.pop(descriptor, None)
        self.closing.discard(descriptor)

    def original_of(self, descriptor: int, file: int) -> Handle | None:
        """Return the struct file that an unopened descriptor may duplicate: a lower one's."""
        below = sorted((d for d in self.descriptors if d < descriptor), reverse=True)
        lower = (self.descriptors[d] for d in below)
        return next((handle for handle in lower if handle.file in (None, file)), None)

    def maps(self, file: int) -> bool:
        """Return whether a part of a file is known to be mapped."""
        return any(area.handle.file == file for area in self.areas)

    def map(self, area: Area) -> None:
        """Add a mapping, which replaces earlier ones of its addresses."""
        self.cut(area.first, area.end)
        self.add(area)

    def add(self, area: Area) -> None:
        """Add a mapping at an unknown address, unless it is empty."""
        if area.first < area.end:
            self.areas.append(area)
        self._near.clear()

    def cut(self, first: int, end: int) -> list[Area]:
        """Remove virtual pages from all mappings; return the removed parts."""
        kept, removed = [], []
        for area in self.areas:
            low, high = max(area.first, first), min(area.end, end)
            if low >= high:
                kept.append(area)
                continue
            removed.append(area.part(low, high))
            if area.first < low:
                kept.append(area.part(area.first, low))
            if high < area.end:
                kept.append(area.part(high, area.end))
        self.areas[:] = kept  # in place: a child may share them
        self._near.clear()
        return removed

    def move(self, first: int, end: int, to: int, pages: int) -> None:
        """mremap: move the mapping of [first, end) to [to, to + pages), which may be larger."""
        moved_areas = self.cut(first, end)
        self.cut(to, to + pages)
        for area in moved_areas:
            start = area.first - first + to
            stop = to + pages if area.end == end else area.end - first + to
            moved = Area(start, min(stop, to + pages), area.handle, area.start, area.flags)
            if moved.first < moved.end:
                self.add(moved)

    def protect(self, first: int, end: int, protection: int) -> None:
        """mprotect: only PROT_EXEC matters."""
        new = MapFlag.EXEC if protection & PROT_EXEC else MapFlag(0)
        self._change(first, end, MapFlag.EXEC, new)

    def advise(self, first: int, end: int, advice: int) -> None:
        """madvise with one of the lasting kinds of advice."""
        if advice in _ADVICE:
            self._change(first, end, *_ADVICE[advice])

    def _change(self, first: int, end: int, clear: MapFlag, put: MapFlag) -> None:
        if all(area.flags == area.flags & ~clear | put for area in self.areas_over(first, end)):
            return
        for area in self.cut(first, end):
            self.add(area.part(area.first, area.end, area.flags & ~clear | put))

    def areas_over(self, first: int, end: int) -> list[Area]:
        """Return the mappings that overlap the virtual pages [first, end)."""
        return [area for area in self.areas if area.first < end and first < area.end]
