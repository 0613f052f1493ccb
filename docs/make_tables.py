"""Writes the page of the tables: ``python docs/make_tables.py > docs/reference/tables.md``."""

from analyzer.ingest.tables import ACCESSES, EVENTS, FILES, REQUESTS, Kind, Rwbs, Schema
from analyzer.predict.tables import COMPARED, RUNS, WINDOWS


def text() -> str:
    """Return the page."""
    parts = [
        "# Tables",
        "For readers of the tables. Made by `python docs/make_tables.py` from "
        "`analyzer/ingest/tables.py` and `analyzer/predict/tables.py`. [Python API](python.md) "
        "says how to get them, and how they go to Arrow, pandas and polars.",
        *(_schema(schema) for schema in (EVENTS, ACCESSES, REQUESTS, FILES)),
        *(_schema(schema) for schema in (WINDOWS, RUNS, COMPARED)),
        "## Kind\n\n" + ", ".join(f"{kind.value} {kind.name}" for kind in Kind),
        "## Rwbs\n\n" + ", ".join(f"{flag.value} {flag.name}" for flag in Rwbs),
    ]
    return "\n\n".join(parts) + "\n"


def _schema(schema: Schema) -> str:
    rows = [f"| {c.name} | {c.dtype} | {c.unit} | {c.meaning} |" for c in schema.columns]
    head = "| column | dtype | unit | meaning |\n|---|---|---|---|"
    return f"## {schema.name}\n\n{head}\n" + "\n".join(rows)


if __name__ == "__main__":
    print(text(), end="")
