"""The members of all JSON documents in short, for the test that they are stable.

``python tests/support/document_members.py`` writes tests/foreread/documents/members.txt: for each
document its name and its structs, then for each struct its members with their types: ``F
integer[]`` is a list of integers, ``{}`` an object with free keys, ``?`` may be absent.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests/foreread/documents/members.txt"
END = "; "  # of a member
WIDTH = 100
Schema = dict[str, Any]
Members = dict[str, dict[str, str]]  # types by struct (or document) and member


def declared(schemas: dict[str, Schema]) -> Members:
    """Return the members of the structs in some schemas; a document has one member, ``is``."""
    documents: Members = {}
    structs: Members = {}
    for name, schema in schemas.items():
        documents[f"document {name}"] = {"is": _type(schema)}
        for struct, definition in schema["$defs"].items():
            structs[struct] = dict(_members(definition))
    return {**documents, **dict(sorted(structs.items()))}


def _members(definition: Schema) -> Iterator[tuple[str, str]]:
    if "properties" not in definition:
        yield "is", _type(definition)
    required = definition.get("required", [])
    for name, value in definition.get("properties", {}).items():
        yield name, _type(value) + ("" if name in required else "?")


def _type(value: Schema) -> str:
    """Return a type in short; a choice is sorted, so that its order does not count."""
    if "$ref" in value:
        return str(value["$ref"].rpartition("/")[2])
    if "const" in value:
        return json.dumps(value["const"])
    choices = [_type(part) for key in ("anyOf", "oneOf") for part in value.get(key, ())]
    choices += map(json.dumps, value.get("enum", ()))
    if not choices:
        kinds = value.get("type", "any")
        choices = [_plain(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return "|".join(sorted(set(choices)))


def _plain(value: Schema, kind: str) -> str:
    if kind == "array":
        inner = "|".join(_type(part) for part in value.get("prefixItems") or [value["items"]])
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind == "object":
        return f"{_type(value.get('additionalProperties') or {})}{{}}"
    return kind


def text_of(members: Members) -> str:
    """Return the list as text."""
    lines = []
    for name, types in members.items():
        lines.append(name)
        line = ""
        for member, kind in types.items():
            item = f"{member} {kind}"
            assert END not in item, item
            if line and len(line) + len(item) > WIDTH - 4:
                lines.append(f"  {line.rstrip()}")
                line = ""
            line += f"{item}{END}"
        lines.append(f"  {line.rstrip()}")
    return "\n".join(lines) + "\n"


def read_members(text: str) -> Members:
    """Return the list that ``text_of`` wrote."""
    members: Members = {}
    for line in text.splitlines():
        if not line.startswith(" "):
            types = members.setdefault(line, {})
            continue
        for item in line.strip().removesuffix(END.strip()).split(END):
            member, _, kind = item.partition(" ")
            types[member] = kind
    return members


def changes(old: Members, new: Members) -> list[str]:
    """Return what was removed, changed and added, a line for each member."""
    before, after = _flat(old), _flat(new)
    lines = [f"{name}: was {kind}, is gone" for name, kind in before.items() if name not in after]
    for name, kind in after.items():
        if name not in before:
            lines.append(f"{name}: is new, {kind}")
        elif before[name] != kind:
            lines.append(f"{name}: was {before[name]}, is {kind}")
    return lines


def _flat(members: Members) -> dict[str, str]:
    return {f"{name}.{key}": kind for name, types in members.items() for key, kind in types.items()}


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from docs.tools.json_schemas import schemas

    FILE.write_text(text_of(declared(schemas())), encoding="utf-8")
