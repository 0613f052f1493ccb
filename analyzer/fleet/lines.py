"""The lines of a fleet's pictures: starts share a line if theirs would cover one another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes

from foreread.analyzer.fleet.document import FleetBuild, FleetStart
from foreread.analyzer.report.style import GREY, SERIES, drawable, legend
from foreread.analyzer.report.wording import shortened
from foreread.boards.base.counted import plural

MOST_LINES = len(SERIES)  # of a picture
_SEEN = 0.005  # of the first seconds: lines that are nearer cover one another
_ROOM = 0.08  # above and below the lines, as a share of their span
_LEAST_SPAN = 0.05  # of the first seconds: less is not shown as a large change
_LABEL = 26  # characters

Of = FleetStart | FleetBuild
Points = Sequence[tuple[int, float]]  # x, and y as a part of the first seconds; in the order of x


@dataclass(frozen=True)
class Line:
    """The points of a start on a board, and the other starts that have the same."""

    of: Of
    points: Points
    others: list[Of] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What the legend calls it."""
        more = f" and {plural(len(self.others), 'other')}" if self.others else ""
        return _named(self.of) + more


def label(name: str) -> str:
    """Return hostile text as a picture shows it: short, and with glyphs that the font has."""
    return shortened(drawable(name), _LABEL)


def lines_of(drawn: Iterable[tuple[Of, Points]]) -> list[Line]:
    """Return the first MOST_LINES different lines; a start that equals one is among its others."""
    lines: list[Line] = []
    for of, points in drawn:
        same = next((line for line in lines if _equal(line.points, points)), None)
        if same is not None:
            same.others.append(of)
        elif points and len(lines) < MOST_LINES:
            lines.append(Line(of, points))
    return lines


def shared(lines: Iterable[Line]) -> str:
    """Return which starts share a line, in words; nothing if none do."""
    sentences = [
        f" The line of {_named(line.of)} is also that of {', '.join(map(_named, line.others))}."
        for line in lines
        if line.others
    ]
    return "".join(sentences)


def draw_lines(ax: Axes, lines: Sequence[Line]) -> None:
    """Draw lines with room around them, the first seconds as a dashed one, and the legend."""
    for line, (colour, dash, mark) in zip(lines, SERIES, strict=False):
        x, y = zip(*line.points, strict=True)
        ax.plot(x, y, dash, marker=mark, color=colour, label=line.name)
    ax.axhline(1, color=GREY, linestyle="--", linewidth=0.8)
    heights = [1.0, *(y for line in lines for _, y in line.points)]
    low, high = min(heights), max(heights)
    room = _ROOM * max(high - low, _LEAST_SPAN)
    missing = max(_LEAST_SPAN - (high - low), 0.0) / 2
    ax.set_ylim(max(low - missing - room, 0.0), high + missing + room)
    legend(ax, columns=1)


def _named(of: Of) -> str:
    return f"{label(of.start)} on {label(of.board)}"


def _equal(points: Points, other: Points) -> bool:
    return [x for x, _ in points] == [x for x, _ in other] and all(
        abs(a - b) < _SEEN for (_, a), (_, b) in zip(points, other, strict=True)
    )
