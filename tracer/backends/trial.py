"""A back-end's probe: record for a moment and see."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tracer.backends.base import INDISPENSABLE, Backend, Probe, RecordError

_TRIAL_BUFFER_KIB = 64


def trial(backend: Backend, version: str) -> Probe:
    """Return the probe of ``backend`` after recording the indispensable event for a moment."""
    with tempfile.TemporaryDirectory(prefix="foreread-trial-") as directory:
        try:
            backend.start(Path(directory), [INDISPENSABLE], _TRIAL_BUFFER_KIB)
            backend.stop()
        except RecordError as error:
            return Probe(backend.name, False, str(error), error.remedy, version)
        except OSError as error:
            return Probe(backend.name, False, str(error), "free space in /tmp", version)
    return Probe(backend.name, True, version=version)
