"""The store of finished cells, so that they are not measured again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Document = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One measurement: ``area`` and ``name`` choose it, ``run`` makes it in a folder of its own.

    ``missing`` says why it cannot be made here, if it cannot. What ``run`` returns is kept.
    ``judge``, where there is one, compares again what a folder has and measures nothing.
    """

    area: str
    name: str
    title: str
    run: Callable[[Path], Document]
    missing: Callable[[], str | None] = field(default=lambda: None)
    judge: Callable[[Path], Document] | None = None

    @property
    def id(self) -> str:
        """Its name for ``--only``."""
        return f"{self.area}/{self.name}"


class Store:
    """The folder of all results: a folder and a JSON file for each cell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def work(self, cell: Cell) -> Path:
        """Return the cell's own folder: captures and sweeps that are there are taken up again."""
        place = self.folder / cell.id
        place.mkdir(parents=True, exist_ok=True)
        return place

    def finished(self, cell: Cell) -> Document | None:
        """Return the result of a finished cell."""
        file = self._file(cell)
        if not file.exists():
            return None
        document: Document = json.loads(file.read_text())
        return document

    def keep(self, cell: Cell, document: Document) -> None:
        """Store the result of a cell atomically."""
        file = self._file(cell)
        part = file.with_name(file.name + ".part")
        part.write_text(json.dumps(document, indent=1) + "\n")
        part.replace(file)

    def _file(self, cell: Cell) -> Path:
        return self.folder / f"{cell.id}.json"


def chosen(cells: list[Cell], only: list[str]) -> list[Cell]:
    """Return the cells with an area, or an area and beginning of the name, among ``only``."""

    def matches(cell: Cell, word: str) -> bool:
        return cell.area == word or ("/" in word and cell.id.startswith(word))

    return [cell for cell in cells if not only or any(matches(cell, word) for word in only)]
