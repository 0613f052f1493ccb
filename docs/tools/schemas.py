"""A JSON Schema as Markdown tables: one for the document, one for each structure that it holds."""

from __future__ import annotations

import json
from typing import Any

_SIMPLE = {"integer": "integer", "number": "number", "string": "text", "boolean": "true or false"}


def schema_lines(schema: dict[str, Any]) -> list[str]:
    """Return the Markdown of a schema as msgspec writes it: a reference and ``$defs``."""
    structures: dict[str, Any] = schema.get("$defs", {})
    first = [n for n in map(_name_of, schema.get("oneOf", [schema])) if n in structures]
    names = first + [n for n in structures if n not in first]
    if not names:
        return _structure_lines(str(schema.get("title", "document")), schema)
    choice = [f"One of: {', '.join(first)}.", ""] if len(first) > 1 else []
    return choice + [line for name in names for line in _structure_lines(name, structures[name])]


def _structure_lines(name: str, structure: dict[str, Any]) -> list[str]:
    if "properties" not in structure:
        return [f"**{name}**: {_type(structure)}. {_cell(structure)}", ""]
    lines = [f"**{name}**", "", str(structure.get("description", "")), ""]
    lines += ["| member | type | meaning |", "|---|---|---|"]
    required = structure.get("required", [])
    for member, value in structure["properties"].items():
        optional = "" if member in required else " (optional)"
        lines.append(f"| `{member}` | {_type(value)}{optional} | {_cell(value)} |")
    return [*lines, ""]


def _cell(value: dict[str, Any]) -> str:
    return " ".join(str(value.get("description", "")).split()).replace("|", "\\|")


def _name_of(value: dict[str, Any]) -> str:
    return str(value.get("$ref", "")).rpartition("/")[2]


def _type(value: dict[str, Any]) -> str:
    """Return the type of a member in words."""
    if "$ref" in value:
        return _name_of(value)
    for key in ("anyOf", "oneOf"):
        if key in value:
            return " or ".join(dict.fromkeys(_type(part) for part in value[key]))
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return " or ".join(f"`{json.dumps(item)}`" for item in value["enum"])
    return _by_name(value)


def _by_name(value: dict[str, Any]) -> str:
    kind = value.get("type", "anything")
    if isinstance(kind, list):
        return " or ".join(_by_name({**value, "type": part}) for part in kind)
    if kind == "array":
        items = value.get("items") or {}
        parts = value.get("prefixItems")
        inside = ", ".join(map(_type, parts)) if parts else _type(items) if items else "anything"
        return f"list of ({inside})" if " or " in inside else f"list of {inside}"
    if kind == "object":
        inner = value.get("additionalProperties")
        return f"object of {_type(inner)}" if isinstance(inner, dict) and inner else "object"
    return _SIMPLE.get(str(kind), str(kind))
