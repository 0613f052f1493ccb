"""Text and rules of a PDF page, drawn at places that are known already."""

from __future__ import annotations

from functools import cache

from matplotlib.artist import Artist
from matplotlib.backend_bases import RendererBase
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform

from foreread.analyzer.report.style import Weight

_RULE_PT = 0.5
_Line = tuple[str, float, float, FontProperties, str]  # text, left end, baseline, font, colour
_Rule = tuple[float, float, float, str]  # left and right end, height, colour


class Ink(Artist):
    """Lines of text and rules in points, measured from the lower left corner of the page.

    matplotlib's own ``Text`` measures each line again before it is drawn, which takes longer than
    the drawing.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[_Line] = []
        self._rules: list[_Rule] = []

    def write(
        self,
        text: str,
        left: float,
        base: float,
        size: float,
        *,
        weight: Weight,
        mono: bool,
        colour: str,
    ) -> None:
        """Add a line of text; ``base`` is the height of its baseline."""
        self._lines.append((text, left, base, _font(size, weight, mono), colour))

    def rule(self, left: float, right: float, height: float, colour: str) -> None:
        """Add a horizontal rule."""
        self._rules.append((left, right, height, colour))

    def draw(self, renderer: RendererBase) -> None:
        """Draw everything; matplotlib calls this once a page."""
        context = renderer.new_gc()
        context.set_linewidth(_RULE_PT)
        for left, right, height, colour in self._rules:
            context.set_foreground(colour)
            renderer.draw_path(
                context, Path([(left, height), (right, height)]), IdentityTransform()
            )
        for text, left, base, font, colour in self._lines:
            context.set_foreground(colour)
            renderer.draw_text(context, left, base, text, font, 0)
        context.restore()


@cache
def _font(size: float, weight: Weight, mono: bool) -> FontProperties:
    family = "DejaVu Sans Mono" if mono else "DejaVu Sans"
    return FontProperties(family=family, weight=weight, size=size)
