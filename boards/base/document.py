"""JSON documents: how foreread declares, writes and reads them.

A document is a struct, declared once in the package that makes it. docs/tools/json_schemas.py
generates the JSON Schema from the struct.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar

import msgspec

from foreread.boards.base.bounded import UnboundedError, read_bounded
from foreread.boards.base.brief import brief
from foreread.boards.base.note import Note
from foreread.boards.base.units import size_text
from foreread.boards.error import BoardsError

SCHEMA: Literal[1] = 1
LARGEST_BYTES = 64 << 20  # a capture's metadata with 200,000 files has 40 MiB
_LARGEST_PARSED = 384 << 20
# Upper bounds of the json module's memory for a container, for a value after a comma, and for a
# byte of a string (CPython 3.11 to 3.13, 64 bits): {"":0} has 200 bytes, an empty list 64, a float
# 32.
_CONTAINER_BYTES, _VALUE_BYTES, _TEXT_BYTES = 200, 64, 4
_INTEGERS = range(-(1 << 63), 1 << 64)
_MOST_DIGITS = 20  # of an integer of 64 bits
_SHOWN = 300  # characters of an error
# Surrogates that stand for no undecodable byte (those are U+DC80 to U+DCFF).
_SURROGATE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
Kind = TypeVar("Kind")


class DocumentError(ValueError):
    """A text that is not a document of the expected kind; the file's reader adds the remedy."""


class OtherSchemaError(BoardsError, ValueError):
    """A document with a schema that this foreread does not read."""


def says(description: str) -> msgspec.Meta:
    """Return the annotation that describes a field, with its unit, in the JSON Schema."""
    return msgspec.Meta(description=description)


class Encoded(msgspec.Struct, frozen=True):
    """A struct that can be written as JSON."""

    __repr__ = brief

    def to_json(self) -> str:
        """Return the document as JSON on one line."""
        return encode(self)


class Document(Encoded, frozen=True, kw_only=True):
    """A JSON document with the number of its schema."""

    schema: Literal[1] = SCHEMA


def encode(document: object, indent: int | None = None) -> str:
    """Return structs, dataclasses and plain values as JSON, in ASCII without control characters.

    The json module writes the text: msgspec refuses the surrogate escapes of undecodable paths.
    """
    # DEL is a control character that JSON allows; it can only be in a string.
    return json.dumps(msgspec.to_builtins(document, enc_hook=_plain), indent=indent).replace(
        "\x7f", "\\u007f"
    )


def _plain(value: object) -> str:
    if isinstance(value, Note):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot stand in a document")


def decode(text: bytes, kind: type[Kind]) -> Kind:
    """Return the document in ``text``.

    Raises OtherSchemaError for another schema, and DocumentError for any other invalid text.
    """
    parsed = parse(text)
    schema = parsed.get("schema", SCHEMA) if isinstance(parsed, dict) else SCHEMA
    if type(schema) is int and schema != SCHEMA:
        raise OtherSchemaError(
            f"has schema {schema}, this foreread reads {SCHEMA}", "update foreread"
        )
    return converted(parsed, kind)


def read_document(
    path: str | os.PathLike[str],
    kind: type[Kind],
    error: Callable[[str, str], Exception],
    remedy: str,
    absent: Kind | None = None,
) -> Kind:
    """Return the document in a regular file, or ``absent``, if given, where there is no file.

    Raises ``error``, of a text and a remedy, for a file that cannot be read or is no such document.
    """
    try:
        return decode(read_bounded(path, LARGEST_BYTES, remedy), kind)
    except OtherSchemaError as other:
        raise error(f"{path} {other}", other.remedy) from other
    except UnboundedError as unbounded:
        raise error(str(unbounded), unbounded.remedy) from unbounded
    except OSError as unreadable:
        if absent is not None and isinstance(unreadable, FileNotFoundError):
            return absent
        raise error(f"{path}: {unreadable.strerror}", remedy) from unreadable
    except DocumentError as invalid:
        raise error(f"{path}: {invalid}", remedy) from invalid


def parse(text: bytes) -> Any:
    """Return the values in a JSON text of any origin; raises DocumentError.

    JSON as in RFC 8259, and stricter: numbers are finite, integers have 64 bits, names in an object
    differ, and surrogates stand for undecodable bytes only. The memory that the values would need
    is bounded before parsing.
    """
    if _parsed_bytes(text) > _LARGEST_PARSED:
        raise DocumentError(
            f"it has more values than foreread reads ({size_text(len(text), digits=4)})"
        )
    try:
        parsed = _DECODER.decode(text.decode())
    except RecursionError as error:
        raise DocumentError("its values are nested too deeply") from error
    except ValueError as error:
        raise DocumentError(shown(error)) from error
    if _SURROGATE_ESCAPE.search(text) and any(map(_SURROGATE.search, _strings(parsed))):
        raise DocumentError("a string has a surrogate that stands for no byte")
    return parsed


def converted(parsed: object, kind: type[Kind]) -> Kind:
    """Return parsed values as a struct; raises DocumentError."""
    try:
        return msgspec.convert(parsed, type=kind)
    except RecursionError as error:
        raise DocumentError("its values are nested too deeply") from error
    except (ValueError, msgspec.MsgspecError) as error:
        raise DocumentError(shown(error)) from error


def shown(error: Exception) -> str:
    """Return an error's text; most of a long value in it is cut."""
    text = str(error) or type(error).__name__
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _parsed_bytes(text: bytes) -> int:
    """Return an upper bound of the memory that the values of a JSON text need."""
    containers = text.count(b"[") + text.count(b"{")
    values = containers * _CONTAINER_BYTES + text.count(b",") * _VALUE_BYTES
    return values + len(text) * (1 if text.isascii() and b"\\u" not in text else _TEXT_BYTES)


def _strings(parsed: Any) -> Iterator[str]:
    """Yield every string in parsed values, names included."""
    pending = [parsed]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from value
            pending += value.values()
        elif isinstance(value, list):
            pending += value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise DocumentError(f"the name {counts.most_common(1)[0][0]!r} is twice in an object")
    return members


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS or int(text) not in _INTEGERS:
        raise DocumentError(f"the number {text[:_MOST_DIGITS]}… has more than 64 bits")
    return int(text)


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise DocumentError(f"the number {text[:_MOST_DIGITS]} is not finite")
    return float(text)


def _constant(name: str) -> float:
    raise DocumentError(f"{name} is not a number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_finite, parse_int=_integer, parse_constant=_constant
)
