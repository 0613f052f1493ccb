"""TUNING files as no foreread would write them: any column and any value in its JSON replaced."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

# As SQL: values of the wrong type, beyond their range, not UTF-8, of a megabyte, for a terminal.
VALUES = (
    *("NULL", "-1", "0", "1", "77", "9223372036854775807", "-9223372036854775808"),
    *("0.5", "5e-324", "1e308", "9e999", "'x'", "''", "x'00ff'", "'none'", "'../../x'"),
    *("CAST(x'ff' AS TEXT)", "CAST(x'eda080' AS TEXT)", "CAST(x'6100' AS TEXT)"),
    *("hex(zeroblob(600000))", "'{}'", "'[]'", "'null'", "'[' || hex(zeroblob(9999))"),
    "CAST(x'1b5d303b78071b5b324ae280ae0a' AS TEXT)",
)
HOSTILE_TEXT = "\x1b]0;x\x07\x1b[2J\u202e\x9b\x7f\nFORGED"
NODES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 3, 1 << 31, 1 << 53, 1 << 63, 10**400, 0.5, 5e-324, -1e308, 1e308),
    *("", "x", "none", "../../etc/passwd", "$(reboot)", HOSTILE_TEXT, "\0", "\udc80", "a" * 70_000),
    *([], {}, [[]], [None], ["x"] * 2000, {"x": 1}, {str(i): i for i in range(2000)}),
)


def columns(path: Path) -> list[tuple[str, str]]:
    """Return every (table, column) of a store."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return [
            (table, row[1])
            for table in tables
            for row in connection.execute(f"PRAGMA table_info({table})")
        ]


def forge(path: Path, *statements: str) -> None:
    """Run statements as if the tables had no types, ranges and references.

    A statement that SQLite refuses all the same, as a key given twice, changes nothing.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        kept = connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(replace(replace(replace(sql, ') STRICT, ',"
            " ') '), ') STRICT', ')'), 'IS NOT NULL', 'NOTNULL'), ' NOT NULL', '')"
            " WHERE type = 'table'"
        )
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            with suppress(sqlite3.Error):
                connection.execute(statement)
        for name, sql in kept:
            connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, name))


def set_value(path: Path, table: str, column: str, value: str, every: bool = False) -> None:
    """Set a column of the first row, or of every row, to a value in SQL."""
    where = "" if every else f" WHERE ({_key(table)}) = (SELECT {_key(table)} FROM {table} LIMIT 1)"
    forge(path, f'UPDATE {table} SET "{column}" = {value}{where}')


def json_columns(path: Path) -> list[tuple[str, str]]:
    """Return every (table, column) that holds JSON."""
    with closing(sqlite3.connect(path)) as connection:
        found = []
        for table, column in columns(path):
            row = connection.execute(
                f'SELECT "{column}" FROM {table} WHERE "{column}" IS NOT NULL LIMIT 1'
            ).fetchone()
            if row and str(row[0])[:1] in "{[" and str(row[0]):
                found.append((table, column))
        return found


def change_json(path: Path, table: str, column: str, chance: Random) -> str:
    """Change one value in the JSON of a row by chance; return what was done."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(f'SELECT {_key(table)}, "{column}" FROM {table}').fetchall()
    *key, text = chance.choice(rows)
    document, done = changed(json.loads(text), chance)
    # As SQLite would get it from a program that does not care for UTF-8 or ranges.
    octets = json.dumps(document, ensure_ascii=chance.random() < 0.5).encode(errors="surrogatepass")
    where = " AND ".join(
        f"{name.strip()} = {int(value)}"
        for name, value in zip(_key(table).split(","), key, strict=True)
    )
    forge(path, f"UPDATE {table} SET \"{column}\" = CAST(x'{octets.hex()}' AS TEXT) WHERE {where}")
    return f"{table}.{column}: {done}"


def changed(document: Any, chance: Random) -> tuple[Any, str]:
    """Return a document with one of its values or names replaced, dropped or put in twice."""
    places = list(_places(document))
    if not places:
        return chance.choice(NODES), "whole"
    parent, name = chance.choice(places)
    kind = chance.choice(("replace", "replace", "replace", "drop", "rename", "more"))
    if kind == "drop":
        del parent[name]
    elif kind == "rename" and isinstance(parent, dict):
        parent[chance.choice(("x", "", HOSTILE_TEXT, f"{name}2"))] = parent.pop(name)
    elif kind == "more" and isinstance(parent, list):
        parent.extend([parent[name]] * chance.choice((1, 300)))
    else:
        parent[name] = chance.choice(NODES)
    return document, f"{kind} {name!r}"


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(document, (dict, list)):
        inside = document.items() if isinstance(document, dict) else enumerate(document)
        for name, value in list(inside):
            yield document, name
            yield from _places(value)


def _key(table: str) -> str:
    return {"generations": "generation, place", "top_genes": "fingerprint"}.get(table, "id")
