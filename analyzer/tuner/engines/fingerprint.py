"""Fingerprints of an I/O workload: read or write, sequential or random, small or large.

After Moilanen, *I/O Workload Fingerprinting in the Genetic-Library* (Linux Symposium 2006),
sections 3 and 4: metrics of every I/O go into a snapshot, snapshots are consolidated, and averages
over a period decide each of the three dimensions.

The paper averages the distance of an I/O from the sector where the previous one *started*: that is
``Snapshot.distance``, and ``published`` decides by it. Today it classifies hardly any workload as
sequential. A stream of bios of 128 KiB is 256 sectors from start to start, and the limit is 25; and
one access to a file system's metadata, a million sectors away, moves the average of ten thousand
bios beyond it. So by default an I/O is a *jump* if it starts more than 25 sectors from the *end* of
the previous one, and a workload is random if most of its I/Os are jumps.

The sums of a snapshot are computed where the I/Os are recorded (tracer/remote/bios.sh).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import product
from typing import Literal, NamedTuple, Self, get_args

RANDOM_SECTORS = 25  # FP_CLASS_PATTERN_RAND, section 4.5
READ_FACTOR = 2  # a read workload has more than two reads a write, section 4.5
MOSTLY = 0.5
SECTOR_BYTES = 512
PAGE_BYTES = 4096

Type = Literal["read", "write"]
Pattern = Literal["sequential", "random"]
Size = Literal["small", "large"]


class Fingerprint(NamedTuple):
    """The class of a workload; one of eight."""

    type: Type
    pattern: Pattern
    size: Size

    def __str__(self) -> str:
        return "-".join(self)


FINGERPRINTS = tuple(
    Fingerprint(*parts) for parts in product(get_args(Type), get_args(Pattern), get_args(Size))
)
BY_NAME: Mapping[str, Fingerprint] = {str(fingerprint): fingerprint for fingerprint in FINGERPRINTS}


@dataclass(frozen=True)
class Snapshot:
    """Sums over the I/Os of a period, which consolidate by addition.

    ``followers`` are the I/Os with a seen predecessor on the disk; ``distances`` is the sum of
    sectors between both starts, ``jumps`` the number of followers that begin more than 25 sectors
    from the predecessor's end. ``sectors`` is the sum of sizes (512 bytes).
    """

    reads: float = 0
    writes: float = 0
    sectors: float = 0
    followers: float = 0
    distances: float = 0
    jumps: float = 0

    def __add__(self, other: Snapshot) -> Snapshot:
        return Snapshot(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )

    @property
    def ios(self) -> float:
        """Number of I/Os."""
        return self.reads + self.writes

    @property
    def distance(self) -> float:
        """Average sectors from the start of an I/O to the start of the next one: as published."""
        return self.distances / self.followers if self.followers else 0.0

    @property
    def jump_share(self) -> float:
        """Share of the I/Os that begin far from the end of the previous one."""
        return self.jumps / self.followers if self.followers else 0.0

    @property
    def size_bytes(self) -> float:
        """Average size of an I/O."""
        return self.sectors * SECTOR_BYTES / self.ios if self.ios else 0.0

    def fingerprint(
        self, page_bytes: int = PAGE_BYTES, published: bool = False
    ) -> Fingerprint | None:
        """Return the class of the period, None without any I/O.

        ``published``: the average distance decides about the pattern, not the jumps.
        """
        if not self.ios:
            return None
        far = self.distance > RANDOM_SECTORS if published else self.jump_share > MOSTLY
        return Fingerprint(
            "read" if self.reads > READ_FACTOR * self.writes else "write",
            "random" if far else "sequential",
            "large" if self.size_bytes > page_bytes else "small",
        )

    def metrics(self) -> dict[str, float]:
        """Return the sums by name, as evaluations store them."""
        return {f"io_{field.name}": float(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_metrics(cls, metrics: Mapping[str, float]) -> Self:
        """Return the snapshot of :meth:`metrics`; missing sums are 0."""
        return cls(*(metrics.get(f"io_{field.name}", 0.0) for field in fields(cls)))
