"""The exception of kernel probes."""

from __future__ import annotations


class ProbeError(ValueError):
    """Probes that cannot be defined for a kernel; ``remedy`` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy
