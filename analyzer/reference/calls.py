"""The effect of system calls on an application's struct files and mappings."""

from __future__ import annotations

from foreread.analyzer.program.timeline import What
from foreread.analyzer.reference.draft import Draft
from foreread.analyzer.reference.images import (
    MAP_ANONYMOUS,
    MAP_SHARED,
    PROT_EXEC,
    UNKNOWN,
    Area,
    Handle,
    Image,
)
from foreread.analyzer.reference.threads import ELSEWHERE, Reading, Thread
from foreread.emulator.linux.operations import MapFlag, Op

LARGEST = 1 << 50  # bytes or pages; an argument beyond it is invalid
_WILLNEED = 3  # MADV_WILLNEED, POSIX_FADV_WILLNEED
_FADVICE = {0: Op.NORMAL, 1: Op.RANDOM, 2: Op.SEQUENTIAL, 3: Op.WILLNEED}
# include/uapi/asm-generic/fcntl.h, include/uapi/linux/{fcntl,close_range}.h
_O_CLOEXEC = 0o2000000
_F_DUPFD, _F_SETFD, _F_DUPFD_CLOEXEC, _FD_CLOEXEC = 0, 2, 1030, 1
_CLOSE_RANGE_CLOEXEC = 4


class Calls:
    """Processes the system calls of all threads; advice becomes operations of the draft."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.page_size = draft.page_size

    def take(self, thread: Thread, what: What, values: tuple[int, ...]) -> None:
        """Process one call, or its return."""
        thread.reading = _reading(what, values)
        (entered, arguments), thread.entered = thread.entered, (what, values)
        image, size = thread.image, self.page_size
        match what:
            case What.OPENED if 0 <= values[0] < LARGEST:
                # With unknown flags, exec is assumed to close the descriptor, as most programs
                # request.
                flags = arguments[0] if entered == What.OPEN else _O_CLOEXEC
                image.put(values[0], Handle(UNKNOWN), closing=bool(flags & _O_CLOEXEC))
            case What.DUPED | What.FCNTLED | What.LSEEKED:
                _returned(image, values[0], entered, arguments)
            case What.MAPPED if entered == What.MMAP and 0 < values[0] < LARGEST * size:
                self._map(image, values[0], *arguments[:5])
            case What.MREMAPPED if entered == What.MREMAP and 0 < values[0] < LARGEST * size:
                first, end = pages_of(arguments[0], arguments[1], size)
                to, stop = pages_of(values[0], arguments[2], size)
                image.move(first, end, to, stop - to)
            case What.MUNMAP:
                image.cut(*pages_of(values[0], values[1], size))
            case What.MPROTECT:
                image.protect(*pages_of(values[0], values[1], size), values[2])
            case What.MADVISE:
                self._madvise(image, *values[:3])
            case What.FADVISE:
                self._fadvise(image, *values[:4])
            case What.READAHEAD:
                self._fadvise(image, values[0], values[1], values[2], _WILLNEED)
            case _:
                _change_descriptors(image, what, values)

    def _map(
        self,
        image: Image,
        address: int,
        length: int,
        protection: int,
        flags: int,
        descriptor: int,
        position: int,
    ) -> None:
        first, end = pages_of(address, length, self.page_size)
        handle = image.descriptors.get(descriptor)
        if flags & MAP_ANONYMOUS or handle is None or not 0 <= position < LARGEST:
            image.cut(first, end)
            return
        kept = MapFlag.EXEC if protection & PROT_EXEC else MapFlag(0)
        kept |= MapFlag.SHARED if flags & MAP_SHARED else MapFlag(0)
        image.map(Area(first, end, handle, position // self.page_size, kept))

    def learn(self, thread: Thread, file: int) -> None:
        """Learn the file of advice in progress from a page that came in without a fault."""
        what, values = thread.entered
        if what == What.MADVISE and values[2] == _WILLNEED:
            first, end = pages_of(values[0], values[1], self.page_size)
            handles = [area.handle for area in thread.image.areas_over(first, end)]
        elif what == What.READAHEAD or (what == What.FADVISE and values[3] == _WILLNEED):
            handle = thread.image.descriptors.get(values[0])
            handles = [handle] if handle is not None else []
        else:
            return
        unknown = [handle for handle in handles if handle.file is None]
        if unknown:
            self.draft.know(unknown[0], file)
            self.take(thread, what, values)

    def _madvise(self, image: Image, address: int, length: int, advice: int) -> None:
        first, end = pages_of(address, length, self.page_size)
        image.advise(first, end, advice)
        if advice != _WILLNEED:
            return
        for area in image.areas_over(first, end):
            low, high = max(first, area.first), min(end, area.end)
            if area.handle.file is not None:
                start = area.start + low - area.first
                self._willneed(area.handle, area.handle.file, start, high - low)

    def _fadvise(self, image: Image, descriptor: int, at: int, length: int, advice: int) -> None:
        handle = image.descriptors.get(descriptor)
        if handle is None or advice not in _FADVICE or not 0 <= at < LARGEST:
            return
        op = _FADVICE[advice]
        if op != Op.WILLNEED and handle.row < 0:
            handle.advice = op
            return
        if op != Op.WILLNEED:
            self.draft.advise(op, handle)
            return
        if handle.file is None:
            return
        start, end = pages_of(at, length, self.page_size)
        pages = end - start if length > 0 else self.draft.pages_of(handle.file) - start
        if 0 < pages < LARGEST:
            self._willneed(handle, handle.file, start, pages)

    def _willneed(self, handle: Handle, file: int, page: int, pages: int) -> None:
        if handle.row < 0:
            self.draft.know(handle, file)
        self.draft.willneed(handle, file, page, pages)


def pages_of(start: int, length: int, size: int) -> tuple[int, int]:
    """Return the pages [first, end) of a range of bytes."""
    return start // size, -(-(start + max(length, 0)) // size)


def _reading(what: What, values: tuple[int, ...]) -> Reading | None:
    """Return the read that a call begins; None for other calls."""
    match what:
        case What.READ:
            return Reading(values[0], values[1], None)
        case What.PREAD:
            return Reading(values[0], values[1], values[2] if 0 <= values[2] < LARGEST else None)
        case What.READV:
            return Reading(values[0], 0, None)
        case What.PREADV:
            return Reading(values[0], 0, values[1] if 0 <= values[1] < LARGEST else None)
        case What.SENDFILE:
            return Reading(values[0], 0, ELSEWHERE if values[1] else None, several=True)
    return None


def _returned(image: Image, value: int, entered: What, arguments: tuple[int, ...]) -> None:
    """Process a return with a new descriptor, or with a new position."""
    if value < 0 or value >= LARGEST:
        return
    match entered:
        case What.DUP:
            image.duplicate(arguments[0], value, closing=False)
        case What.FCNTL if arguments[1] in (_F_DUPFD, _F_DUPFD_CLOEXEC):
            image.duplicate(arguments[0], value, closing=arguments[1] == _F_DUPFD_CLOEXEC)
        case What.LSEEK:
            if (handle := image.descriptors.get(arguments[0])) is not None:
                handle.position = value


def _change_descriptors(image: Image, what: What, values: tuple[int, ...]) -> None:
    """Process a call that changes descriptors whatever it returns."""
    match what:
        case What.DUP_TO:
            if values[0] != values[1]:
                image.duplicate(values[0], values[1], closing=bool(values[2] & _O_CLOEXEC))
        case What.FCNTL if values[1] == _F_SETFD and values[0] in image.descriptors:
            handle = image.descriptors[values[0]]
            image.put(values[0], handle, closing=bool(values[2] & _FD_CLOEXEC))
        case What.CLOSE:
            image.close(values[0])
        case What.CLOSE_RANGE:
            for descriptor in [d for d in image.descriptors if values[0] <= d <= values[1]]:
                if values[2] & _CLOSE_RANGE_CLOEXEC:
                    image.put(descriptor, image.descriptors[descriptor], closing=True)
                else:
                    image.close(descriptor)
