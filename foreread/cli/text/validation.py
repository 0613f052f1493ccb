"""What ``foreread predict --measured`` prints: prediction beside measurement."""

from __future__ import annotations

from analyzer.predict.validate import Validation
from foreread.cli.main import printable
from foreread.cli.text.table import render


def validation_text(validation: Validation) -> str:
    """Return the errors at each measured window, and the regret."""
    head = ("KiB", "F pred.", "measured", "error", "pages pred.", "measured", "error")
    timed = ("s pred.", "measured", "error")
    rows = [
        (
            str(p.read_ahead_kb),
            _number(p.predicted.f),
            _number(p.measured.f),
            _percent(p.error.f),
            _number(p.predicted.pages),
            _number(p.measured.pages),
            _percent(p.error.pages),
            _number(p.predicted.seconds, ".3f"),
            _number(p.measured.seconds, ".3f"),
            _percent(p.error.seconds),
        )
        for p in validation.points
    ]
    lines = [
        render((*head, *timed), rows),
        "",
        f"error of F: median {_percent(validation.f_error_median)}, "
        f"largest {_percent(validation.f_error_max)}",
        f"error of pages: median {_percent(validation.pages_error_median)}",
        f"error of seconds: median {_percent(validation.seconds_error_median)}, "
        f"largest {_percent(validation.seconds_error_max)}",
        f"measured best {validation.best_read_ahead_kb} KiB, "
        f"default {validation.default_read_ahead_kb} KiB",
        "regret, in parts of the default window's time: of the predicted best "
        f"({_kib(validation.chosen_read_ahead_kb)}): {_percent(validation.regret)}; "
        f"of the verdict ({_kib(validation.proposed_read_ahead_kb)}): "
        f"{_percent(validation.regret_proposed)}; of the published criterion "
        f"({_kib(validation.quasi_optimal_read_ahead_kb)}): "
        f"{_percent(validation.regret_quasi_optimal)}",
        *(f"note: {printable(note)}" for note in validation.notes),
    ]
    return "\n".join(lines)


def _kib(kb: int | None) -> str:
    return "-" if kb is None else f"{kb} KiB"


def _number(value: float | None, spec: str = ".0f") -> str:
    return "-" if value is None else format(value, spec)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:+.1f} %"
