"""How every capture of a fleet is analysed; part of each key, so that the answers never mix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from foreread.analyzer.error import ArgumentError
from foreread.analyzer.fleet.names import digest
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.boards.base.bounded import read_bounded

Reader = Callable[[Path], Recording]
_MOST_DEVICE_BYTES = 1 << 20


@dataclass(frozen=True)
class FleetQuestion:
    """The model, the disk's cost, and the reader of captures.

    ``device_name`` is a board profile, or the name of a file whose text is ``device_text``: workers
    of other machines do not have the file. ``reader`` is "module:function"; empty: foreread's.
    """

    version: str
    model: str = ""
    device_name: str = ""
    device_text: str = ""
    reader: str = ""

    def parts(self) -> tuple[str, ...]:
        """Return what makes answers to two questions differ."""
        device = digest(self.device_text) if self.device_text else self.device_name
        return (self.version, self.model, device, self.reader)


def question_of(
    version: str, model: str | None, device_model: str | None, reader: Reader | None
) -> FleetQuestion:
    """Return the question of a call; raises DeviceModelError, ProfileError and ArgumentError."""
    device_from(device_model)  # an error now, and not once for each capture
    text = ""
    if device_model is not None and Path(device_model).is_file():
        text = read_bounded(device_model, _MOST_DEVICE_BYTES, "give a device model").decode()
    return FleetQuestion(version, model or "", device_model or "", text, _named(reader))


def reader_of(name: str) -> Reader:
    """Return the reader of a name."""
    module, _, function = name.partition(":")
    reader: Reader = getattr(import_module(module), function)
    return reader


def _named(reader: Reader | None) -> str:
    if reader is None:
        return ""
    name = f"{reader.__module__}:{reader.__qualname__}"
    if reader.__module__ == "__main__" or "<" in name or "." in reader.__qualname__:
        raise ArgumentError(
            f"{name} cannot be found by another process",
            "give a function of an importable module",
        )
    return name
