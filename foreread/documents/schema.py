"""JSON Schemas (draft 2020-12) of documents, from the structs that declare them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from inspect import cleandoc
from typing import Any

import msgspec
from msgspec import NODEFAULT, inspect

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"


def schema_of(kinds: Sequence[type[msgspec.Struct]], title: str) -> dict[str, Any]:
    """Return the schema of a document that is one of ``kinds``.

    Every key is required that foreread always writes. More keys may come with later versions.
    """
    roots, definitions = msgspec.json.schema_components(kinds, ref_template=_REF)
    for name, names in _always_written(kinds):
        definitions[name]["required"] = names
    whole = dict(roots[0]) if len(roots) == 1 else {"oneOf": list(roots)}
    return {"$schema": DIALECT, "title": title, **whole, "$defs": _portable(definitions)}


def _always_written(kinds: Sequence[type]) -> Iterator[tuple[str, list[str]]]:
    """Yield each object's name with the keys that are always written."""
    seen: dict[type, inspect.Type] = {}
    for kind in inspect.multi_type_info(kinds):
        _collect(kind, seen)
    for cls, info in seen.items():
        if not isinstance(info, (inspect.StructType, inspect.DataclassType)):
            continue
        defaults = getattr(getattr(cls, "__struct_config__", None), "omit_defaults", False)
        written = [f.encode_name for f in info.fields if f.required or not _left_out(f, defaults)]
        tag = [info.tag_field] if isinstance(info, inspect.StructType) and info.tag_field else []
        yield cls.__name__, [*tag, *written]


def _left_out(field: inspect.Field, omit_defaults: bool) -> bool:
    # What may be UNSET has neither of the two.
    has_default = (field.default, field.default_factory) != (NODEFAULT, NODEFAULT)
    return omit_defaults or not has_default


def _collect(value: Any, seen: dict[type, inspect.Type]) -> None:
    """Add every struct and dataclass in a type to ``seen``."""
    if isinstance(value, (inspect.StructType, inspect.DataclassType)):
        if value.cls in seen:
            return
        seen[value.cls] = value
        for field in value.fields:
            _collect(field.type, seen)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            _collect(getattr(value, name), seen)
    elif isinstance(value, tuple):
        for each in value:
            _collect(each, seen)


def _portable(value: Any, key: str = "") -> Any:
    """Return the schema with docstrings as paragraphs, and no pattern that only Python has."""
    if isinstance(value, dict):
        return {name: _portable(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_portable(each) for each in value]
    if key == "description" and isinstance(value, str):
        return re.sub(r"\bNone\b", "null", cleandoc(value))
    return value.replace(r"\Z", "$") if key == "pattern" else value
