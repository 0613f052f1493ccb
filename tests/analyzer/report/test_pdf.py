"""Pages of the PDF: full, with figures that wait for room and text that fills it meanwhile."""

from __future__ import annotations

from functools import partial

import pytest

from foreread.analyzer.report.blocks import Figure, Paragraph, Section
from foreread.analyzer.report.pdf import FULL, SCALES, Sheets, _scale, _set
from foreread.analyzer.report.pdf_text import wrapped
from foreread.analyzer.report.plots import Plot
from foreread.analyzer.report.style import drawing


class Paper:
    """Counts the pages that are saved."""

    def __init__(self):
        self.pages = 0

    def savefig(self, page):
        self.pages += 1


@pytest.fixture
def drawn():
    return []


@pytest.fixture
def figure(drawn):
    def make(name, height_in):
        plot = Plot(
            name=name,
            title=name,
            caption=name,
            height_in=height_in,
            draw=partial(lambda canvas, name: drawn.append(name), name=name),
        )
        return Figure(plot)

    return make


def lines(count):
    return [Paragraph(f"line {number}") for number in range(count)]


class Noting(Sheets):
    """Notes on which page each text stands."""

    def __init__(self, paper):
        self.paper, self.page_of = paper, {}
        super().__init__(paper, "title")

    def lines(self, text, size_pt, **style):
        super().lines(text, size_pt, **style)
        self.page_of.setdefault(text, self.paper.pages + 1)


def test_text_fills_the_page_while_a_figure_waits(figure, drawn):
    blocks = [figure("a", 4.0), figure("b", 6.0), *lines(3), figure("c", 1.0)]
    with drawing():
        sheets = Noting(Paper())
        sheets.section(Section("one", "One", blocks), 12)
    assert drawn == list("abc")  # in their order
    assert [sheets.page_of[one] for one in ("a", "line 0", "line 2")] == [1, 1, 1]
    assert [sheets.page_of[one] for one in ("b", "c")] == [2, 2]


def test_a_section_of_figures_alone_takes_its_heading_along(figure):
    with drawing():
        sheets = Noting(Paper())
        sheets.section(Section("one", "One", [figure("a", 6.0)]), 12)
        sheets.section(Section("two", "Two", [figure("b", 6.0)]), 12)
    assert sheets.page_of["Two"] == sheets.page_of["b"] == 2


def test_measuring_draws_nothing_and_fills_as_drawing_does(figure, drawn):
    sections = [Section("one", "One", [*lines(30), figure("a", 3.0), *lines(40)])]
    with drawing():
        measured = _set(Sheets(None, "t"), "t", "s", sections)
        assert not drawn
        paper = Paper()
        assert _set(Sheets(paper, "t"), "t", "s", sections) == pytest.approx(measured)
    assert drawn == ["a"]
    assert paper.pages > 1


def test_figures_shrink_or_grow_rather_than_leave_the_last_page_half_empty(figure):
    """Three pages of figures, and five lines that alone would be a fourth page."""
    section = Section("one", "One", [*(figure(str(n), 2.8) for n in range(9)), *lines(6)])
    with drawing():
        fills = {one: _set(Sheets(None, "t", one), "t", "s", [section]) for one in SCALES}
        chosen = _scale("t", "s", [section])
    assert fills[1.0] < FULL
    assert fills[chosen] >= FULL
    assert chosen == next(one for one in SCALES if fills[one] >= FULL)


def test_an_unfillable_last_page_is_filled_as_far_as_possible():
    with drawing():
        assert _scale("t", "s", [Section("one", "One", lines(2))]) in SCALES


def test_a_long_path_is_cut_after_a_slash_and_a_long_name_where_it_must():
    path = "/usr/lib/python3.11/__pycache__/datetime.cpython-311.pyc"
    lines = wrapped(path, 7.0, 150.0)
    assert "".join(lines) == path
    assert len(lines) == 2
    assert lines[0].endswith("/")
    name = "/" + 80 * "x"
    assert "".join(wrapped(name, 7.0, 150.0)) == name
    assert all(wrapped(name, 7.0, 150.0))
