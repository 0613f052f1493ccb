"""The exception of kernel probes."""

from __future__ import annotations

from foreread.tracer.error import TracerError


class ProbeError(TracerError, ValueError):
    """Probes that cannot be defined for a kernel; ``remedy`` says what to do."""
