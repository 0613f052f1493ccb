"""A prediction as the library returns it: with its table, its figure, and its lines of text."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.shown_table import html_of, text_of, visible
from foreread.analyzer.ingest.tables import TEXT, Column, Schema, Table
from foreread.analyzer.predict import prediction as by_window
from foreread.analyzer.predict.tables import WINDOWS, table
from foreread.boards.base.counted import plural
from foreread.checked import checked
from foreread.tracer.formats.sweep import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST, _MOST_WORDS = 100, 600  # characters of a line, and of a reason
_USUAL_KIB = (0, 4, 16, 64, 128, 256, 512, 1024)
_MOST_ROWS = 7
_FIGURES = ("read_ahead_kb", "requests", "pages", "unused_pages", "seconds")
_SHOWN = Schema(
    "windows",
    (
        *(column for column in WINDOWS.columns if column.name in _FIGURES),
        Column("window", TEXT, "", "role of this window: set, now, published criterion"),
    ),
)


@dataclass(frozen=True, repr=False)
class Prediction(by_window.Prediction):
    """What every readahead window would read, and how long the start would take.

    ``verdict`` says which window to set, and why. ``doubts`` make the verdict less certain, and
    ``notes`` are the basis of the figures. ``total`` and each of ``devices`` is a :class:`Curve`.
    """

    start: Recording | None = field(default=None, compare=False)

    @property
    def table(self) -> Table:
        """One row a window: requests, pages and seconds of the whole start."""
        return table(self)

    @checked
    def plot(self, sweep: Sweep | None = None) -> Axes:
        """Draw the predicted seconds by window with their band; return the axes.

        Args:
            sweep: measured runs to draw as well.

        Raises:
            ChoiceError: the prediction has no seconds.
        """
        from foreread.objects.plot import seconds_by_window  # noqa: PLC0415  (imports matplotlib)

        return seconds_by_window(self, sweep)

    def __repr__(self) -> str:
        answer, why, basis = self._lines()
        reason = textwrap.wrap(why, _LONGEST, max_lines=2, placeholder=" …")
        _, *rows = text_of(self._shown()).splitlines()
        return "\n".join([answer, *reason, basis, *rows])

    def _repr_html_(self) -> str:
        answer, *others = map(escape, self._lines())
        figures = html_of(self._shown(), "all windows: prediction.table; figure: prediction.plot()")
        return f"<p><strong>{answer}</strong><br>{'<br>'.join(others)}</p>{figures}"

    def _lines(self) -> list[str]:
        """Return the answer, its reason, and how much there is to read about it."""
        verdict = self.verdict
        window = "" if verdict.read_ahead_kb is None else f" {verdict.read_ahead_kb:,} KiB"
        more = f"{plural(len(self.doubts), 'doubt')}, {plural(len(self.ordered_notes), 'note')}"
        lines = [
            f"Prediction: {verdict.action}{window}",
            verdict.why,
            f"model {self.model}; {more}",
        ]
        return [visible(line, _MOST_WORDS) for line in lines]

    def _shown(self) -> Table:
        """Return the rows of the windows that a reader looks for first."""
        curve, special = self.total, self._special()
        usual = [kb for kb in _USUAL_KIB if kb not in special]
        chosen = {*special, *usual[: _MOST_ROWS - len(special)]}
        rows = [row for row, kb in enumerate(curve.read_ahead_kb) if kb in chosen]
        shown = self.table.take(np.array(rows, np.int64))
        names = [special.get(int(kb), "") for kb in shown["read_ahead_kb"]]
        words = np.array(names, TEXT) if names else np.zeros(0, "U1")
        return Table(_SHOWN, {**{name: shown[name] for name in _FIGURES}, "window": words})

    def _special(self) -> dict[int, str]:
        """Return what windows in KiB are called."""
        verdict, reference = self.verdict, self.reference
        published = self.published.read_ahead_kb
        names: dict[int, list[str]] = {}
        for kb, name in (
            (verdict.read_ahead_kb, verdict.action),
            (reference.kb, "now" if reference.in_force else reference.name),
            (published, "published criterion"),
        ):
            if kb is not None:
                names.setdefault(kb, []).append(name)
        return {kb: ", ".join(dict.fromkeys(which)) for kb, which in names.items()}
