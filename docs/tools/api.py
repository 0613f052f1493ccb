"""How the library's classes appear on the site: fields as a list, and no endless signature."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator

LONGEST_SIGNATURE = 240  # characters; beyond it is a result, which callers do not construct

MOST_IN_SIGNATURE = 5  # fields; more are a list


def complete_docstring(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Add the fields of a dataclass or struct to its docstring, if they are many."""
    if what == "property":
        lines[:0] = ["..", ""]  # else napoleon takes what stands before a colon for the type
    if what == "class" and isinstance(obj, type):
        fields = [f"- ``{field}``: ``{kind}``" for field, kind in _fields(obj)]
        lines += ["", *fields, ""] if len(fields) > MOST_IN_SIGNATURE else []


def _fields(python_class: type) -> Iterator[tuple[str, str]]:
    """Yield name and type of each public field, as its class writes them."""
    if not (dataclasses.is_dataclass(python_class) or hasattr(python_class, "__struct_fields__")):
        return
    for base in reversed(python_class.__mro__):
        for name, kind in inspect.get_annotations(base).items():
            text = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
            if not name.startswith("_") and "ClassVar" not in text:
                yield name, text


def short_signature(
    app: object,
    what: str,
    name: str,
    obj: object,
    options: object,
    signature: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    """Return a class's signature unless it is too long to read."""
    if what == "class" and signature and len(signature) > LONGEST_SIGNATURE:
        return "", returned
    return signature, returned
