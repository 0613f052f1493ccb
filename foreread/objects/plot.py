"""The report's figure of seconds by window, for a notebook or a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from foreread.analyzer.predict.choice import ChoiceError
from foreread.analyzer.predict.validate import validate
from foreread.analyzer.report.style import WIDTH_IN, drawing
from foreread.analyzer.report.subject import Subject
from foreread.analyzer.report.timing import predicted_rows, start_up
from foreread.tracer.formats.capture import NO_METADATA
from foreread.tracer.formats.sweep import Sweep

if TYPE_CHECKING:
    from foreread.objects.prediction import Prediction

_HEIGHT_IN = 3.4


def seconds_by_window(prediction: Prediction, sweep: Sweep | None = None) -> Axes:
    """Draw predicted seconds with their band, and measured runs; return the axes.

    Raises ChoiceError without predicted seconds.
    """
    start = prediction.start
    capture = start.capture if start else NO_METADATA
    measured = None if sweep is None else validate(prediction, sweep, capture)
    if start is None or prediction.total.seconds is None:
        raise ChoiceError(
            f"the prediction has no seconds to draw: {prediction.verdict.why}",
            prediction.verdict.remedy or "draw the requests: prediction.table.to_pandas().plot()",
        )
    subject = Subject(start, prediction, sweep, measured)
    assert predicted_rows(subject)
    with drawing():
        figure = plt.figure(figsize=(WIDTH_IN, _HEIGHT_IN), facecolor="white")
        start_up(figure, subject)
    return figure.axes[0]
