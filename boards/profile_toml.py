"""Writes a profile as TOML: tomllib only reads."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from foreread.boards.cost import Cost
from foreread.boards.profile import Profile


def encode_profile(profile: Profile) -> str:
    """Return the TOML text of a profile; decode_profile returns the same profile from it.

    Undecodable bytes (surrogate escapes) become the replacement character.
    """
    return "\n".join(_table(msgspec.to_builtins(profile), "")).lstrip("\n") + "\n"


def encode_cost(cost: Cost) -> str:
    """Return the TOML text of a device-model file, which names the model as its ``kind``."""
    values = msgspec.to_builtins(cost)
    kind = {"kind": values.pop("model")}
    return "\n".join(_table(kind | values, "")) + "\n"


def _table(values: dict[str, Any], path: str) -> list[str]:
    """Return the lines of a table; TOML requires its plain values before its tables."""
    lines = [f"{key} = {_value(v)}" for key, v in values.items() if not _is_nested(v)]
    for key, nested in values.items():
        if _is_nested(nested):
            inner = f"{path}.{key}" if path else key
            head, tables = (
                (f"[{inner}]", [nested]) if isinstance(nested, dict) else (f"[[{inner}]]", nested)
            )
            for table in tables:
                lines += ["", head, *_table(table, inner)]
    return lines


def _is_nested(value: object) -> bool:
    tables = isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    return isinstance(value, dict) or tables


def _value(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        # JSON's escapes are valid in TOML; neither has to escape DEL, C1 and bidi overrides.
        sound = value.encode(errors="surrogateescape").decode(errors="replace")
        return "".join(map(_seen, json.dumps(sound, ensure_ascii=False)))
    return json.dumps(value)


def _seen(character: str) -> str:
    code = ord(character)
    if character.isprintable():
        return character
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
