"""Modules of an example's folder, imported as its own command imports them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest


@contextmanager
def imported(
    monkeypatch: pytest.MonkeyPatch, folder: Path, names: Sequence[str]
) -> Iterator[dict[str, ModuleType]]:
    """Give the modules by name, and forget them afterwards."""
    monkeypatch.syspath_prepend(folder)
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield {name: __import__(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)
