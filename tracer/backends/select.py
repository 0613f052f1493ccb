"""Choose the back-end: the one asked for, or the best that works."""

from __future__ import annotations

from collections.abc import Sequence

from foreread.tracer.backends.base import Backend, Probe
from foreread.tracer.backends.perf import PerfBackend
from foreread.tracer.backends.trace_cmd import TraceCmdBackend
from foreread.tracer.backends.tracefs import TracefsBackend
from foreread.tracer.error import RecordError

AUTO = "auto"
_STRENGTHS = {
    "tracefs": "needs no other program and loses no completions",
    "trace-cmd": "loses no completions",
    "perf": "the last that can",
}


def candidates() -> list[Backend]:
    """Return every back-end, the best first."""
    return [TracefsBackend(), TraceCmdBackend(), PerfBackend()]


def choose(name: str, backends: Sequence[Backend] | None = None) -> tuple[Backend, str]:
    """Return the back-end called ``name``, or for "auto" the first that works, and why.

    Raises RecordError, with the remedy of its probe, if it is unknown or does not work.
    """
    backends = candidates() if backends is None else backends
    if name == AUTO:
        return _first_working(backends)
    for backend in backends:
        if backend.name == name:
            _check(backend.probe())
            return backend, "asked for"
    names = ", ".join([AUTO, *(backend.name for backend in backends)])
    raise RecordError(f"unknown back-end {name!r}", f"use one of: {names}")


def _first_working(backends: Sequence[Backend]) -> tuple[Backend, str]:
    failed: list[Probe] = []
    for backend in backends:
        probe = backend.probe()
        if probe.works:
            return backend, _why(backend.name, failed)
        failed.append(probe)
    raise RecordError(
        "no back-end works here: " + "; ".join(f"{p.name}: {p.lacks}" for p in failed),
        failed[0].remedy if failed else "install one",
    )


def _why(name: str, failed: list[Probe]) -> str:
    lacks = [f"{probe.name} does not work ({probe.lacks})" for probe in failed]
    return "; ".join([f"{name}: {_STRENGTHS.get(name, 'works')}", *lacks])


def _check(probe: Probe) -> None:
    if not probe.works:
        raise RecordError(f"back-end {probe.name} does not work: {probe.lacks}", probe.remedy)
