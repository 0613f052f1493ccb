"""Lines of a fleet's pictures: equal ones are one, and all of them lie inside the axes."""

import pytest
from matplotlib.figure import Figure

from foreread.analyzer.fleet.document import FleetBuild
from foreread.analyzer.fleet.lines import MOST_LINES, draw_lines, lines_of, shared
from foreread.analyzer.report.style import axes, drawing


def start(name):
    return FleetBuild(
        board="board",
        board_name="board",
        start=name,
        command=name,
        build="one",
        kernel=None,
        first=None,
        captures=1,
        seconds=1.0,
        requests=None,
    )


def points(*heights):
    return list(enumerate(heights))


def test_equal_lines_are_one_and_say_whose_they_are():
    drawn = [("a", (1, 0.9)), ("b", (1, 0.8)), ("c", (1, 0.9001)), ("d", (1, 0.9, 1)), ("e", ())]
    found = lines_of((start(name), points(*heights)) for name, heights in drawn)
    assert [line.of.start for line in found] == ["a", "b", "d"]
    assert [line.name for line in found] == ["a on board and 1 other", "b on board", "d on board"]
    assert shared(found) == " The line of a on board is also that of c on board."


def test_lines_beyond_the_most_are_left_out_but_equal_ones_are_counted():
    drawn = [(start(str(n)), points(n / 10)) for n in (*range(MOST_LINES + 3), 0)]
    found = lines_of(drawn)
    assert len(found) == MOST_LINES
    assert [one.start for one in found[0].others] == ["0"]


@pytest.mark.parametrize("heights", [(1.0, 1.0), (0.5, 1.13), (0.001, 1.0), (1.0, 40.0)])
def test_no_line_touches_the_ends_of_its_axis(heights):
    with drawing():
        ax = axes(Figure())
        draw_lines(ax, lines_of([(start("a"), points(*heights))]))
    low, high = ax.get_ylim()
    room = 0.05 * (high - low)
    assert low == 0 or low + room < min(heights)
    assert max(heights) < high - room
