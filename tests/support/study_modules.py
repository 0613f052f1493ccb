"""The modules of a study, by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType


@contextmanager
def imported(folder: Path, names: Sequence[str]) -> Iterator[dict[str, ModuleType]]:
    """Give the modules of studies/NAME by name."""
    yield {name: import_module(f"studies.{folder.name}.{name}") for name in names}
