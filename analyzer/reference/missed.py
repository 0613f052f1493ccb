"""The pages that one call has read in, and the call that follows from them."""

from __future__ import annotations

from dataclasses import dataclass

from foreread.analyzer.program.misses import WHOLE_READ, Way


@dataclass
class Missed:
    """Pages of a file (inclusive) that one call has read in."""

    file: int
    first: int
    last: int
    way: Way

    def extend(self, file: int, page: int, way: Way, most: int | None) -> bool:
        """Add a later page, and return whether it fits.

        The call touches ``most`` pages, some of which may have been cached; if ``most`` is unknown,
        only the next page fits.
        """
        end = self.last + 2 if most is None else self.first + most
        fits = (file, way) == (self.file, self.way) and self.last < page < end
        self.last = page if fits else self.last
        return fits

    def around(self, position: int, count: int, page_size: int) -> tuple[int, int]:
        """Return position and length in bytes of the read(2) of ``count`` that missed the pages.

        ``position`` is the position of the struct file, if nothing moved it.
        """
        first, last = self.first * page_size, self.last * page_size
        if position // page_size <= self.first and last < position + count:
            return position, count
        position = max(first, last + 1 - count)
        return position, max(count, last + 1 - position)

    def guessed(self, pages: int, page_size: int) -> list[tuple[int, int]]:
        """Return positions and lengths of reads without a recorded call; the file has ``pages``."""
        length = (self.last + 1) * page_size
        if self.first == 0 and self.last + 1 == pages and length <= WHOLE_READ:
            return [(0, length)]
        return [(page * page_size, page_size) for page in range(self.first, self.last + 1)]
