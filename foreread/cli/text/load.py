"""A recorded load as text."""

from __future__ import annotations

from foreread.analyzer.load.document import ShownClient, ShownLoad
from foreread.boards.base.units import size_text
from foreread.cli.text.table import render


def load_table(load: ShownLoad) -> str:
    """Return a row for each program of a load; empty without one."""
    head = (
        "program",
        "does",
        "calls of",
        "thinks",
        "in flight",
        "requests",
        "a second",
        "busy",
    )
    rows = [_row(client, load.seconds) for client in load.clients]
    return render(head, rows) if rows else ""


def _row(client: ShownClient, seconds: float) -> tuple[str, ...]:
    return (
        client.name,
        _does(client),
        size_text(client.burst_bytes or client.size),
        _time(client.think_ns),
        str(client.outstanding),
        f"{client.requests:,}",
        size_text(round(client.bytes / max(seconds, 1e-9))),
        f"{client.busy:.0%}",
    )


def _does(client: ShownClient) -> str:
    """Return in words how it reads or writes."""
    order = "in order" if client.in_order else "at random"
    cache = "through the cache" if client.cached else "direct"
    more = ", sequential" if client.sequential else ""
    return f"{'writes' if client.write else 'reads'} {order}, {cache}{more}"


def _time(ns: float) -> str:
    if ns >= 1e7:
        return f"{ns / 1e6:.0f} ms"
    return f"{ns / 1e6:.1f} ms" if ns >= 1e6 else f"{ns / 1e3:.0f} µs"
