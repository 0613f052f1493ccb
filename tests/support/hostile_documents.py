"""Documents whose every free text is hostile to a terminal, made from their declarations.

A field that is added to a struct is therefore in the documents that the tests print.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import inspect

# A title, an emptied screen, text from right to left, C1 controls, an undecodable byte, a new line.
HOSTILE = "\x1b]0;x\x07\x1b[2J\u202e\x9b31m\x7f\r\udc80\nFORGED\n<b>&amp;"


def text_fields(kind: Any) -> list[str]:
    """Return the path of every free text in a struct: ``host.kernel``, ``devices.[].queue.{}``."""
    return sorted(set(_fields(inspect.type_info(kind), "")))


def hostile(kind: Any, document: Any, kept: frozenset[str] = frozenset()) -> Any:
    """Return plain values with every free text replaced, but those of the fields ``kept``."""
    return _made(inspect.type_info(kind), document, "", kept)


def _fields(info: inspect.Type, path: str) -> list[str]:
    found: list[tuple[inspect.Type, str]] = []
    match _bare(info):
        case inspect.StrType():
            return [path]
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            found = [(item, _below(path, "[]"))]
        case inspect.TupleType(item_types=items):
            found = [(one, _below(path, "[]")) for one in items]
        case inspect.DictType(key_type=key, value_type=value):
            found = [(key, _below(path, "{}")), (value, _below(path, "{}"))]
        case inspect.UnionType(types=types):
            found = [(one, path) for one in types]
        case inspect.StructType(fields=fields):
            found = [(one.type, _below(path, one.encode_name)) for one in fields]
    return [field for one in found for field in _fields(*one)]


def _bare(info: inspect.Type) -> inspect.Type:
    return info.type if isinstance(info, inspect.Metadata) else info


def _made(info: inspect.Type, value: Any, path: str, kept: frozenset[str]) -> Any:
    info, made = _bare(info), value
    match info:
        case inspect.StrType():
            plain = info.pattern or path in kept
            made = (value or "1") if plain else HOSTILE[: info.max_length]
        case inspect.ListType() | inspect.VarTupleType():
            made = [
                _made(info.item_type, one, _below(path, "[]"), kept)
                for one in value or _fewest(info)
            ]
        case inspect.DictType():
            made = _dict(info, value or {}, _below(path, "{}"), kept)
        case inspect.UnionType():
            made = _union(info, value, path, kept)
        case inspect.StructType(array_like=True):
            made = value or [_made(one.type, None, path, kept) for one in info.fields]
        case inspect.StructType():
            made = _struct(info, value or {}, path, kept)
        case _ if value is None:
            made = _least(info, path, kept)
    return made


def _fewest(info: Any) -> list[None]:
    """Return absent items for an empty list: one of texts, and as many as there have to be."""
    return [None] * max(info.min_length or 0, 1 if _fields(info.item_type, "") else 0)


def _least(info: inspect.Type, path: str, kept: frozenset[str]) -> Any:
    match info:
        case inspect.LiteralType():
            return info.values[0]
        case inspect.TupleType():
            return [_made(one, None, path, kept) for one in info.item_types]
        case inspect.IntType():
            return max(info.ge or 0, 0)
        case inspect.FloatType():
            return max(info.ge or 0.0, 1.0 if info.gt == 0 else 0.0)
    return False if isinstance(info, inspect.BoolType) else None


def _dict(info: inspect.DictType, value: Any, path: str, kept: frozenset[str]) -> Any:
    more = {}
    if isinstance(_bare(info.key_type), inspect.StrType) and path not in kept:
        more = {HOSTILE: _made(info.value_type, None, path, kept)}
    return {**value, **more}


def _union(info: inspect.UnionType, value: Any, path: str, kept: frozenset[str]) -> Any:
    choices = [one for one in map(_bare, info.types) if not isinstance(one, inspect.NoneType)]
    if len(choices) > 1 and all(isinstance(one, inspect.StructType) for one in choices):
        tags = {one.tag: one for one in choices}
        field = choices[0].tag_field
        return _made(tags[value[field]], value, path, kept) if value else None
    if value is None and not _fields(choices[0], path):
        return None
    return _made(choices[0], value, path, kept)


def _struct(info: inspect.StructType, value: Any, path: str, kept: frozenset[str]) -> Any:
    made = {
        one.encode_name: _made(
            one.type, value.get(one.encode_name), _below(path, one.encode_name), kept
        )
        for one in info.fields
    }
    if info.tag_field:
        made = {info.tag_field: info.tag, **made}
    return {name: one for name, one in made.items() if one is not None and one is not msgspec.UNSET}


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
