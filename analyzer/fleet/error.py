"""What the fleet refuses, and the packages of its extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from foreread.analyzer.error import AnalyzerError


class FleetError(AnalyzerError, ValueError):
    """A source, a store or an engine that cannot be used; ``remedy`` says what to do."""


def extra(module: str) -> Any:
    """Return a module of the extra; raises FleetError if its package is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise FleetError(
            f"the Python package {name} is not installed", 'type: pip install "foreread[fleet]"'
        ) from error
