"""The PDF: the same sections on A4 pages, set with matplotlib alone."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Literal

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure as Page
from matplotlib.gridspec import GridSpec

from foreread.analyzer.report.blocks import (
    Block,
    Bullets,
    Code,
    Column,
    Facts,
    Figure,
    Paragraph,
    Section,
    Table,
)
from foreread.analyzer.report.pdf_ink import Ink
from foreread.analyzer.report.pdf_text import MOST_LINES, cell_lines, width_of, wrapped
from foreread.analyzer.report.plots import Plot
from foreread.analyzer.report.style import BLACK, WIDTH_IN, Weight, drawable, text_width_pt
from foreread.boards.base.written import write_whole

A4_IN = (8.27, 11.69)
MARGIN_IN = (A4_IN[0] - WIDTH_IN) / 2
TOP_IN, BOTTOM_IN, HEAD_IN = 0.7, 0.7, 0.33
DARK, PALE = "#444444", "#dddddd"
BODY_PT, SMALL_PT = 8.5, 7.0
LEADING = 1.4  # line height over font size
ASCENT = 0.76  # of the font size: height of an l
FULL = 0.55  # of the emptiest page
SCALES = (1.0, 0.97, 1.03, 0.94, 1.06, 0.91, 1.09, 0.88, 1.12, 0.85)  # of the height of figures


def write_pdf(output: Path, title: str, subtitle: str, sections: list[Section]) -> None:
    """Write the report to ``output``; call it within ``style.drawing``.

    The file has no date of its own, so that the same input gives the same file.
    """
    metadata = {"Title": drawable(title), "CreationDate": None, "Creator": "foreread"}
    scale = _scale(title, subtitle, sections)
    written = io.BytesIO()
    with PdfPages(written, metadata=metadata) as pdf:
        _set(Sheets(pdf, drawable(title), scale), title, subtitle, sections)
    write_whole(output, written.getvalue())


def _scale(title: str, subtitle: str, sections: list[Section]) -> float:
    """Return the scale of the figures' heights that leaves no page half empty.

    The emptiest page is filled to at least FULL, or as far as any scale can.
    """
    fills: dict[float, float] = {}
    for scale in SCALES:
        fills[scale] = _set(Sheets(None, drawable(title), scale), title, subtitle, sections)
        if fills[scale] >= FULL:
            break
    return max(fills, key=fills.__getitem__)


def _set(sheets: Sheets, title: str, subtitle: str, sections: list[Section]) -> float:
    """Set the whole report; return how full its emptiest page is."""
    sheets.lines(title, BODY_PT, weight="bold")
    sheets.lines(subtitle, SMALL_PT)
    for number, section in enumerate(sections):
        sheets.section(section, 15 if number == 0 else 12)
    return sheets.finish()


class Sheets:
    """A4 pages filled from the top; lengths in inches, ``y`` measured from the top.

    Figures are ``scale`` of the height that they ask for. Without ``pdf`` nothing is drawn: that
    measures.
    """

    def __init__(self, pdf: PdfPages | None, running_title: str, scale: float = 1.0) -> None:
        self._pdf = pdf
        self._scale = scale
        self._running_title = running_title
        self._number = 0
        self._least = 1.0
        self._new_page()

    def section(self, section: Section, size_pt: float) -> None:
        """Set a heading and its blocks."""
        first = section.blocks[0]
        alone = all(isinstance(block, Figure) for block in section.blocks)
        self._need(0.5 + self._height(first.plot) if alone and isinstance(first, Figure) else 1.2)
        self._y += 0.12
        self.lines(section.title, size_pt, weight="bold")
        self._y += 0.05
        waiting: list[Figure] = []
        for block in section.blocks:
            self._put([*waiting, block] if isinstance(block, Figure) else waiting, waiting)
            if not isinstance(block, Figure):
                self._block(block)
        for figure in waiting:
            self._block(figure)

    def _put(self, figures: list[Figure], waiting: list[Figure]) -> None:
        """Set figures as far as there is room; those that must wait for a page are ``waiting``.

        The blocks that follow a figure in its section fill the page meanwhile.
        """
        figures = list(figures)
        while figures and self._height(figures[0].plot) <= self._left():
            self._block(figures.pop(0))
        waiting[:] = figures

    def finish(self) -> float:
        """Save the last page; return which part of the emptiest page is filled."""
        self._save()
        return self._least

    def _save(self) -> None:
        self._least = min(self._least, (self._y - TOP_IN) / (A4_IN[1] - TOP_IN - BOTTOM_IN))
        if self._pdf is not None:
            self._pdf.savefig(self._page)  # type: ignore[no-untyped-call]

    def lines(
        self,
        text: str,
        size_pt: float,
        *,
        indent: float = 0.0,
        weight: Weight = "normal",
        mono: bool = False,
    ) -> None:
        """Set ``text`` wrapped to the width of the page."""
        # DejaVu Sans Bold and Mono run wider than the regular face that is measured.
        room_pt = (WIDTH_IN - indent) * 72 / (1.2 if weight == "bold" or mono else 1.02)
        for line in wrapped(text, size_pt, room_pt):
            self._need(size_pt * LEADING / 72)
            self._text(line, MARGIN_IN + indent, size_pt, weight=weight, mono=mono)
            self._y += size_pt * LEADING / 72

    def _new_page(self) -> None:
        if self._number:
            self._save()
        self._number += 1
        self._page = Page(figsize=A4_IN, facecolor="white")
        self._ink = Ink()
        self._page.add_artist(self._ink)
        self._y = HEAD_IN
        if self._number > 1:
            room_pt = (WIDTH_IN - 0.5) * 72
            head = wrapped(self._running_title, SMALL_PT, room_pt)[0]
            self._text(head, MARGIN_IN, SMALL_PT, colour=DARK)
        self._text(str(self._number), A4_IN[0] - MARGIN_IN, SMALL_PT, align="right", colour=DARK)
        self._y = TOP_IN

    def _need(self, height: float) -> None:
        if self._y + height > A4_IN[1] - BOTTOM_IN:
            self._new_page()

    def _text(
        self,
        text: str,
        x: float,
        size_pt: float,
        *,
        weight: Weight = "normal",
        mono: bool = False,
        align: Literal["left", "right"] = "left",
        colour: str = BLACK,
    ) -> None:
        """Write a line whose top is at ``y``; ``x`` is its left or right end."""
        x_pt, base_pt = x * 72, (A4_IN[1] - self._y) * 72 - ASCENT * size_pt
        if align == "right":
            x_pt -= text_width_pt(text, size_pt, weight)
        self._ink.write(text, x_pt, base_pt, size_pt, weight=weight, mono=mono, colour=colour)

    def _rule(self, colour: str) -> None:
        left, right = MARGIN_IN * 72, (A4_IN[0] - MARGIN_IN) * 72
        self._ink.rule(left, right, (A4_IN[1] - self._y) * 72, colour)

    def _block(self, block: Block) -> None:
        match block:
            case Paragraph():
                self.lines(block.text, BODY_PT)
            case Bullets():
                for item in block.items:
                    self._item(item)
            case Code():
                for line in block.lines:
                    self.lines(line, SMALL_PT, indent=0.15, mono=True)
            case Facts():
                self._facts(block)
            case Table():
                self._table(block)
            case Figure():
                self._figure(block.plot)
        self._y += 0.08

    def _item(self, item: str) -> None:
        self._need(BODY_PT * LEADING / 72)
        self._text("•", MARGIN_IN + 0.05, BODY_PT)
        self.lines(item, BODY_PT, indent=0.2)

    def _facts(self, facts: Facts) -> None:
        columns = [Column("", "left"), Column("", "left", share=3.6)]
        for name, value in facts.rows:
            self._row(columns, [name, value], BODY_PT - 0.5, most_lines=40)

    def _table(self, table: Table) -> None:
        self._need(0.9)
        if table.caption:
            self.lines(table.caption, SMALL_PT)
            self._y += 0.04
        self._header(table.columns)
        for number, row in enumerate(table.rows):
            if self._row_height(table.columns, row, SMALL_PT, MOST_LINES) > self._left():
                self._new_page()
                self._header(table.columns)
            weight: Weight = "bold" if number in table.marked else "normal"
            self._row(table.columns, row, SMALL_PT, weight=weight)
            self._rule(PALE)
            self._y += 0.03

    def _header(self, columns: list[Column]) -> None:
        self._row(columns, [column.title for column in columns], SMALL_PT, weight="bold")
        self._rule(DARK)
        self._y += 0.045

    def _left(self) -> float:
        return A4_IN[1] - BOTTOM_IN - self._y

    def _row_height(
        self, columns: list[Column], cells: list[str], size_pt: float, most_lines: int
    ) -> float:
        lines = max(len(cell) for cell in cell_lines(columns, cells, size_pt, most_lines))
        return lines * size_pt * LEADING / 72

    def _row(
        self,
        columns: list[Column],
        cells: list[str],
        size_pt: float,
        *,
        weight: Weight = "normal",
        most_lines: int = MOST_LINES,
    ) -> None:
        self._need(self._row_height(columns, cells, size_pt, most_lines))
        top, bottom, left = self._y, self._y, MARGIN_IN
        for column, cell in zip(
            columns, cell_lines(columns, cells, size_pt, most_lines), strict=True
        ):
            self._y = top
            at = left if column.align == "left" else left + width_of(columns, column) - 0.06
            for line in cell:
                self._text(line, at, size_pt, weight=weight, align=column.align)
                self._y += size_pt * LEADING / 72
            bottom = max(bottom, self._y)
            left += width_of(columns, column)
        self._y = bottom

    def _figure(self, plot: Plot) -> None:
        height = plot.height_in * self._scale
        self._need(self._height(plot))
        self.lines(plot.title, BODY_PT, weight="bold")
        if self._pdf is not None:
            self._draw(plot, height)
        self._y += height + 0.03
        self.lines(plot.caption, SMALL_PT)
        self._y += 0.06

    def _height(self, plot: Plot) -> float:
        """Return the height of a figure with title and caption."""
        caption = wrapped(plot.caption, SMALL_PT, WIDTH_IN * 72 / 1.02)
        return plot.height_in * self._scale + (len(caption) + 2) * SMALL_PT * LEADING / 72 + 0.1

    def _draw(self, plot: Plot, height: float) -> None:
        below = A4_IN[1] - self._y - height
        # Subfigures ignore a grid's margins: the margins are cells.
        grid = GridSpec(
            3,
            3,
            figure=self._page,
            width_ratios=(MARGIN_IN, WIDTH_IN, MARGIN_IN),
            height_ratios=(self._y, height, below),
        )
        plot.draw(self._page.add_subfigure(grid[1, 1]))
