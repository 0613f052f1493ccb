"""JSON documents: how foreread declares, writes and reads them.

A document is a struct, declared once in the package that makes it. The JSON Schema in
docs/reference/schemas is generated from the struct (docs/make_schemas.py).
"""

from __future__ import annotations

import json
from typing import Any, Literal, TypeVar

import msgspec

from boards.error import BoardsError

SCHEMA: Literal[1] = 1
Kind = TypeVar("Kind")


class OtherSchemaError(BoardsError, ValueError):
    """A document of another schema than this foreread reads."""


def says(description: str) -> msgspec.Meta:
    """Return the annotation that describes a field, with its unit, in the JSON Schema."""
    return msgspec.Meta(description=description)


class Encoded(msgspec.Struct, frozen=True):
    """What can be written as JSON."""

    def to_json(self) -> str:
        """Return the document as JSON on one line."""
        return encode(self)


class Document(Encoded, frozen=True, kw_only=True):
    """A JSON document with the number of its schema."""

    schema: Literal[1] = SCHEMA


def encode(document: object, indent: int | None = None) -> str:
    """Return structs, dataclasses and plain values as JSON.

    The json module writes the text: msgspec refuses the surrogate escapes of undecodable paths.
    """
    return json.dumps(msgspec.to_builtins(document), indent=indent)


def decode(text: bytes, kind: type[Kind]) -> Kind:
    """Return the document in ``text``.

    Raises OtherSchemaError, and ValueError or RecursionError for what is not such a document.
    """
    found: Any = json.loads(text)
    schema = found.get("schema", SCHEMA) if isinstance(found, dict) else SCHEMA
    if type(schema) is int and schema != SCHEMA:
        raise OtherSchemaError(
            f"has schema {schema}, this foreread reads {SCHEMA}", "update foreread"
        )
    return msgspec.convert(found, type=kind)
