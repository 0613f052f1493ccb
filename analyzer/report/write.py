"""Writes a report's files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analyzer.ingest.recording import Recording
from analyzer.prediction import Prediction
from analyzer.prefetch.measured import Listed
from analyzer.report.blocks import Figure, Section
from analyzer.report.page import render
from analyzer.report.pdf import write_pdf
from analyzer.report.sections import sections
from analyzer.report.style import drawing
from analyzer.report.subject import Subject
from analyzer.report.wording import plain, shell_words, shortened
from analyzer.tuner.document import document as tuning_document
from analyzer.tuner.results import Results
from analyzer.validate import Validation
from tracer.sweep import Sweep


@dataclass(frozen=True)
class ReportFiles:
    """What was written; ``figures`` are PNGs in the order of the page."""

    html: Path
    pdf: Path
    json: Path
    figures: tuple[Path, ...]


def write_report(
    recording: Recording,
    prediction: Prediction,
    sweep: Sweep | None,
    validation: Validation | None,
    output: Path,
    listed: Listed | None = None,
    tuned: Results | None = None,
) -> ReportFiles:
    """Write the report into the folder ``output``, which is made if needed.

    That is ``index.html``, ``report.pdf``, a PNG of each figure, and ``report.json``. The same
    input gives the same bytes. Raises OSError when writing fails.
    """
    subject = Subject(recording, prediction, sweep, validation, listed, tuned)
    output.mkdir(parents=True, exist_ok=True)
    said = sections(subject)
    title, subtitle = _title(subject), _subtitle(subject)
    html, pdf = output / "index.html", output / "report.pdf"
    with drawing():
        html.write_text(render(title, subtitle, said, _version(subject)), encoding="utf-8")
        write_pdf(pdf, title, subtitle, said)
        figures = _write_figures(said, output)
    figures_of = output / "report.json"
    figures_of.write_text(json.dumps(document(subject)) + "\n", encoding="utf-8")
    return ReportFiles(html, pdf, figures_of, figures)


def document(subject: Subject) -> dict[str, Any]:
    """Return the figures, schema 1: prediction, validation, tuning, waste by file and rule."""
    validation = subject.validation
    return {
        "schema": 1,
        "prediction": subject.prediction.to_json(),
        "validation": None if validation is None else validation.to_json(),
        "tuning": None if subject.tuned is None else tuning_document(subject.tuned),
        "waste": {
            "window": subject.window,
            "model": subject.prediction.model if subject.causes is not None else "fixed",
            "files": [_file(subject, row) for row in np.flatnonzero(subject.waste.wasted).tolist()],
        },
    }


def _file(subject: Subject, row: int) -> dict[str, Any]:
    of_rules = {
        one.cause.name.lower(): int(one.wasted[row])
        for one in subject.causes or []
        if one.wasted[row]
    }
    return {
        "path": subject.path(row),
        "requests": int(subject.waste.requests[row]),
        "pages_wasted": int(subject.waste.wasted[row]),
        "by_rule": of_rules,
    }


def _write_figures(said: list[Section], output: Path) -> tuple[Path, ...]:
    written = []
    plots = [
        block.plot for section in said for block in section.blocks if isinstance(block, Figure)
    ]
    for plot in plots:
        path = output / f"{plot.name}.png"
        plot.figure().savefig(path, metadata={"Software": None})
        written.append(path)
    return tuple(written)


def _title(subject: Subject) -> str:
    capture = subject.recording.capture
    what = "a foreign trace" if capture is None else shell_words(capture.command)
    return f"foreread: {shortened(plain(what), 120)}"


def _subtitle(subject: Subject) -> str:
    capture = subject.recording.capture
    kernel = f"Linux {subject.recording.kernel or 'of an unknown version'}"
    if capture is None:
        return kernel
    return f"{capture.host.nodename or 'unnamed board'}, {kernel}, recorded {capture.created}"


def _version(subject: Subject) -> str:
    capture = subject.recording.capture
    return "" if capture is None else capture.foreread
