#!/usr/bin/env python3
"""Write the JSON Schemas of foreread's documents to docs/reference/schemas.

usage: make_schemas.py [FOLDER]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from foreread.documents.every import COMMANDS, FILES  # noqa: E402
from foreread.documents.schema import schema_of  # noqa: E402

FOLDER = ROOT / "docs" / "reference" / "schemas"
FILE_TITLES = {
    "capture-metadata": "capture.json, the metadata of a capture",
    "report-figures": "report.json, the figures of a report",
    "fleet-figures": "fleet.json, the figures of a fleet's report",
    "prefetch-state": "LIST.state, the listed content of a build",
    "unpacking": "unpacking.json of a layout",
    "suite": "SUITE, a TOML file with starts, weights, boards and captures",
}


def schemas() -> dict[str, str]:
    """Return the text of every schema by file name."""
    found = {name: f"foreread {name.replace('-', ' ')} --json" for name in COMMANDS}
    found |= FILE_TITLES
    return {
        f"{name}.json": _text(schema_of({**COMMANDS, **FILES}[name], title))
        for name, title in found.items()
    }


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write them, and remove what is not one of them."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    texts = schemas()
    for old in folder.glob("*.json"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
