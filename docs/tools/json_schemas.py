"""The JSON Schemas of foreread's documents: ``python -m docs.tools.json_schemas FOLDER``."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from foreread.documents.every import COMMANDS, FILES
from foreread.documents.schema import schema_of

FILE_TITLES = {
    "capture-metadata": "capture.json, the metadata of a capture",
    "report-figures": "report.json, the figures of a report",
    "fleet-figures": "fleet.json, the figures of a fleet's report",
    "prefetch-state": "LIST.state, the listed content of a build",
    "unpacking": "unpacking.json of a layout",
    "history": "the file of --history, metrics by commit",
    "suite": "SUITE, a TOML file with starts, weights, boards and captures",
}


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """Return every schema by its name, in the order of the commands."""
    titles = {name: f"foreread {name.replace('-', ' ')} --json" for name in COMMANDS}
    titles |= FILE_TITLES
    return {name: schema_of({**COMMANDS, **FILES}[name], title) for name, title in titles.items()}


def main() -> None:
    """Write each schema to a file of its name."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas().items():
        text = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
