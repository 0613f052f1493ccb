"""Draws the order of the rooms, as the import contracts of pyproject.toml have it.

``python -m docs.tools.imports`` writes docs/images/imports.svg; a test compares.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "docs/images/imports.svg"
HOUSE = "foreread"
MANY = 12  # modules of one layer are counted from here on
WIDTH, LINE, GAP = 760, 26, 6

Layers = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Box:
    """A room, and the rows of its own rooms, top to bottom, where a contract orders them."""

    name: str
    layers: tuple[tuple["Box", ...], ...] = ()

    @property
    def height(self) -> int:
        """The height of the box with its title."""
        rows = sum(max(box.height for box in row) + GAP for row in self.layers)
        return LINE + rows


def orders() -> dict[str, Layers]:
    """Return the layers of each package whose contract has an order, top to bottom."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return {
        package: tuple(tuple(re.findall(r"\w+", layer)) for layer in contract["layers"])
        for contract in contracts["contracts"]
        if contract["type"] == "layers"
        for package in contract["containers"]
    }


def box_of(package: str, layers_by_package: dict[str, Layers]) -> Box:
    """Return the box of a package with the boxes of its rooms."""
    rows = []
    for layer in layers_by_package.get(package, ()):
        names = layer if len(layer) < MANY else (f"{len(layer)} modules",)
        rows.append(tuple(box_of(f"{package}.{name}", layers_by_package) for name in names))
    return Box(package.rpartition(".")[2], tuple(rows))


def drawn(box: Box, x: float, y: float, width: float, depth: int = 0) -> list[str]:
    """Return the box and all in it as SVG."""
    fill = ("#fff", "#f6f8fb", "#e4ebf5", "#fff")[depth]
    lines = [
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{box.height}" rx="5" '
        f'fill="{fill}" stroke="#c9d2de"/>',
        f'<text x="{x + width / 2:.0f}" y="{y + 18:.0f}" text-anchor="middle">{box.name}</text>',
    ]
    y += LINE
    for row in box.layers:
        each = (width - GAP) / len(row) - GAP
        for number, room in enumerate(row):
            lines += drawn(room, x + GAP + number * (each + GAP), y, each, depth + 1)
        y += max(room.height for room in row) + GAP
    return lines


def picture() -> str:
    """Return the picture: a room imports those below it, and none above or beside it."""
    house = box_of(HOUSE, orders())
    boxes, y = [], GAP
    for box in (Box("studies"), house):
        boxes += drawn(box, GAP, y, WIDTH - 2 * GAP)
        y += box.height + GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" '
            f'height="{y}" role="img" aria-label="Rooms, each above those that it may import">',
            '<style>text{font:12.5px ui-monospace,"DejaVu Sans Mono",monospace;fill:#333}</style>',
            f'<rect width="{WIDTH}" height="{y}" rx="8" fill="#fff"/>',
            *boxes,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    IMAGE.write_text(picture())
