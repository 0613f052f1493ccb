"""Short representations of results: a few lines, however large the result."""

from __future__ import annotations

import textwrap
from collections.abc import Collection
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec

_WIDTH = 88
_MOST_LINES = 10
_LONGEST = 64  # characters of a value


def brief(result: Any) -> str:
    """Return the class and the fields of a struct or a dataclass, in at most 11 short lines.

    A long text is cut; a collection that does not fit is shown as its length, and a result in a
    field as its class. Use it as ``__repr__``.
    """
    name, parts = type(result).__name__, [f"{key}={_value(value)}" for key, value in _items(result)]
    line = f"{name}({', '.join(parts)})"
    if len(line) <= _WIDTH:
        return line
    lines = textwrap.wrap(
        ", ".join(part.replace(" ", "\xa0") for part in parts),
        _WIDTH - 4,
        break_long_words=False,
        break_on_hyphens=False,
    )
    lines = [line.replace("\xa0", " ") for line in lines]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], "…"]
    return "\n    ".join([f"{name}(", *lines]) + ")"


def _items(result: Any) -> list[tuple[str, Any]]:
    if isinstance(result, msgspec.Struct):
        return [(key, getattr(result, key)) for key in result.__struct_fields__]
    assert is_dataclass(result)
    return [(field.name, getattr(result, field.name)) for field in fields(result) if field.repr]


def _value(value: Any) -> str:
    """Return a value on one line, in at most about _LONGEST characters."""
    if isinstance(value, (str, bytes)):
        return _cut(repr(value[: _LONGEST + 1]), len(value))
    if isinstance(value, msgspec.Struct) or (is_dataclass(value) and not isinstance(value, type)):
        return f"<{type(value).__name__}>"
    if callable(value):
        return f"<{getattr(value, '__name__', type(value).__name__)}>"
    if isinstance(value, Collection):
        return _collection(value)
    return _cut(" ".join(repr(value).split()))


def _collection(values: Collection[Any]) -> str:
    """Return a few plain values unchanged, and other collections as their length."""
    plain = isinstance(values, (list, tuple, set, frozenset)) and all(
        value is None or isinstance(value, (str, int, float)) for value in values
    )
    if (plain and len(values) <= _LONGEST // 3) or len(values) == 0:
        text = repr(values)
        if len(text) <= _LONGEST:
            return text
    return f"<{type(values).__name__} of {len(values):,}>"


def _cut(text: str, length: int = 0) -> str:
    return text if len(text) <= _LONGEST and length <= _LONGEST else f"{text[: _LONGEST - 1]}…"
