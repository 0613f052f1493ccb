"""The kinds of disk in disks.toml: parameters of the emulated boards' slow disk, device models."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from foreread.boards.cost import Cost, FixedCost, StatefulCost
from foreread.boards.error import BoardsError

FIXED = "fixed"
_FILE = Path(__file__).with_name("disks.toml")
_QUEUE_DEPTH, _TITLE, _SOURCE = "queue_depth", "title", "source"
_IN_US = {
    "latency_ns": "latency_us",
    "hit_ns": "hit_us",
    "seek_ns": "seek_us",
    "seek_ns_per_root": "seek_us_per_root",
    "jitter_ns": "jitter_us",
}


class DiskError(BoardsError, ValueError):
    """A kind of disk that does not exist; ``remedy`` names those that do."""


@dataclass(frozen=True)
class SlowDisk:
    """A kind of disk: ``costs`` are parameters of its driver (emulated/slowdisk/cost.h)."""

    name: str
    title: str
    source: str
    queue_depth: int
    costs: dict[str, int]

    def settings(self) -> dict[str, object]:
        """Return the guest's settings for this disk, as lib.sh reads them."""
        costs = " ".join(f"{name}={value}" for name, value in self.costs.items())
        return {"QUEUE_DEPTH": self.queue_depth, "COSTS": costs}

    def cost(self, latency_ns: float, ns_per_kib: float) -> Cost:
        """Return the cost that its driver applies; the arguments are the cost of a fixed disk."""
        if not self.costs:
            return FixedCost(obtained="set", latency_us=latency_ns / 1000, ns_per_kib=ns_per_kib)
        return self.own_cost()

    def own_cost(self) -> Cost:
        """Return the cost of a kind with costs of its own."""
        figures = dict(self.costs)
        figures.pop("seed", None)  # the next random number is unknown
        document = {_name(name): _value(name, value) for name, value in figures.items()}
        return msgspec.convert({"obtained": "set"} | document, StatefulCost)


def _name(parameter: str) -> str:
    """Return the name of a parameter in boards/cost.py, which has times in microseconds."""
    return _IN_US.get(parameter, parameter)


def _value(parameter: str, value: int) -> float:
    return value / 1000 if parameter in _IN_US else value


@cache
def kinds() -> dict[str, SlowDisk]:
    """Return all kinds by name, in the order of the file."""
    tables = tomllib.loads(_FILE.read_text())
    return {name: _disk(name, dict(table)) for name, table in tables.items()}


def costly_kinds() -> dict[str, SlowDisk]:
    """Return the kinds that have costs of their own: all but the fixed one."""
    return {name: disk for name, disk in kinds().items() if disk.costs}


def kind(name: str) -> SlowDisk:
    """Return a kind of disk; raises DiskError."""
    if name not in kinds():
        raise DiskError(f"no board has a disk {name!r}", f"use one of {', '.join(kinds())}")
    return kinds()[name]


def _disk(name: str, table: dict[str, int | str]) -> SlowDisk:
    title, source = str(table.pop(_TITLE)), str(table.pop(_SOURCE, ""))
    depth = int(table.pop(_QUEUE_DEPTH, 1))
    return SlowDisk(name, title, source, depth, {key: int(value) for key, value in table.items()})
