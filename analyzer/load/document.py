"""A recorded load as a part of documents."""

from __future__ import annotations

from typing import Annotated

import msgspec

from foreread.analyzer.load.recorded import SeenLoad
from foreread.boards.base.document import says
from foreread.tracer.formats.capture import dev_text


class ShownClient(msgspec.Struct, frozen=True, kw_only=True):
    """A program that reads or writes, and what was counted of it."""

    name: Annotated[str, says("name of its threads")]
    write: bool
    in_order: Annotated[bool, says("each call begins where the one before ended")]
    cached: Annotated[bool, says("through the page cache")]
    sequential: Annotated[bool, says("it asked for sequential reading, which doubles the window")]
    size: Annotated[int, says("bytes of a call; of a direct one, of its request")]
    think_ns: Annotated[float, says("nanoseconds between the end of a call and the next")]
    outstanding: Annotated[int, says("requests in flight at a time")]
    burst_bytes: Annotated[int, says("bytes that a cached writer writes before it syncs the file")]
    requests: int
    bytes: int
    busy: Annotated[float, says("share of the time in which a request of it was in flight")]


class ShownLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What else read and wrote on the disk with the most bytes of the load."""

    disk: Annotated[str, says("major:minor")]
    read_ahead_kb: Annotated[int | None, says("window of the disk; null if unknown")]
    seconds: Annotated[float, says("duration of the recording")]
    clients: Annotated[list[ShownClient], says("by falling number of bytes")]
    notes: list[str]
    unpredicted: Annotated[str, says("why nothing is predicted beside it; empty if it is")]
    limited: Annotated[
        bool | None, says("whether it is limited as the start is; null if that is unknown")
    ]


def shown(seen: SeenLoad) -> ShownLoad:
    """Return a recorded load for a document."""
    clients = [
        ShownClient(
            name=each.name,
            write=each.client.write,
            in_order=each.client.in_order,
            cached=each.client.cached,
            sequential=each.client.sequential,
            size=each.client.size,
            think_ns=each.client.think_ns,
            outstanding=each.client.outstanding,
            burst_bytes=each.client.burst_bytes,
            requests=each.requests,
            bytes=each.nbytes,
            busy=each.busy,
        )
        for each in seen.clients
    ]
    return ShownLoad(
        disk=dev_text(seen.disk),
        read_ahead_kb=seen.window_kb,
        seconds=seen.seconds,
        clients=clients,
        notes=list(seen.load.notes),
        unpredicted=seen.load.unpredicted,
        limited=seen.load.limited,
    )
