"""The content of a report, independent of the output format: sections made of blocks.

The HTML page and the PDF are two renderings of the same sections. Text in blocks may be hostile
(paths, commands, mounts): the renderer escapes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from foreread.analyzer.report.plots import Plot


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str
    kind: ClassVar[str] = "paragraph"


@dataclass(frozen=True)
class Bullets:
    """A list; ``warning`` for what the reader must not overlook."""

    items: list[str]
    warning: bool = False
    kind: ClassVar[str] = "bullets"


@dataclass(frozen=True)
class Code:
    """Lines for a shell, or read from one."""

    lines: list[str]
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Facts:
    """Names and their values."""

    rows: list[tuple[str, str]]
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class Column:
    """A column of a table; ``share`` of the width goes to text columns in print."""

    title: str
    align: Literal["left", "right"] = "right"
    share: float = 1.0
    is_path: bool = False


@dataclass(frozen=True)
class Table:
    """A table; ``marked`` rows are emphasised.

    ``shades``: of cells, by row and column, from 0 (none) to 4; the PDF does not have them.
    """

    columns: list[Column]
    rows: list[list[str]]
    caption: str = ""
    marked: frozenset[int] = frozenset()
    shades: Mapping[tuple[int, int], int] = field(default_factory=dict)
    kind: ClassVar[str] = "table"


@dataclass(frozen=True)
class Figure:
    """A figure with its caption."""

    plot: Plot
    kind: ClassVar[str] = "figure"


Block = Paragraph | Bullets | Code | Facts | Table | Figure


@dataclass(frozen=True)
class Section:
    """A heading with its blocks."""

    anchor: str
    title: str
    blocks: list[Block] = field(default_factory=list)
