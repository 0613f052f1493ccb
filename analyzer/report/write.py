"""Writes a report's files."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from foreread.analyzer.advise.document import AdviceDocument
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.predict.validate import Validation
from foreread.analyzer.prefetch.measured import Listed
from foreread.analyzer.report.beside import beside
from foreread.analyzer.report.blocks import Block, Figure, Section
from foreread.analyzer.report.document import ReportFigures, figures_of
from foreread.analyzer.report.live.inputs import Live
from foreread.analyzer.report.live.page import live_page
from foreread.analyzer.report.page import render
from foreread.analyzer.report.pdf import write_pdf
from foreread.analyzer.report.plots import Plot
from foreread.analyzer.report.sections import sections
from foreread.analyzer.report.style import Canvas, drawing
from foreread.analyzer.report.subject import Subject
from foreread.analyzer.report.tuning import tuning_sections
from foreread.analyzer.report.wording import shell_words, shortened
from foreread.analyzer.tuner.findings.document import document as tuning_document
from foreread.analyzer.tuner.findings.results import Results
from foreread.boards.base.brief import brief
from foreread.boards.base.printable import printable
from foreread.boards.base.silent import silent
from foreread.boards.base.written import write_whole
from foreread.tracer.formats.sweep import Sweep

Drawn = Callable[[int, int], None]


@dataclass(frozen=True, repr=False)
class ReportFiles:
    """The written files; ``figures`` are PNGs in the order of the page."""

    __repr__ = brief

    html: Path
    pdf: Path
    json: Path
    figures: tuple[Path, ...]


@dataclass(frozen=True)
class Head:
    """The head above the sections, and the version of foreread."""

    title: str
    subtitle: str
    version: str


def write_report(
    recording: Recording,
    prediction: Prediction,
    sweep: Sweep | None,
    validation: Validation | None,
    output: Path,
    listed: Listed | None = None,
    tuned: Results | None = None,
    drawn: Drawn = silent,
    advice: AdviceDocument | None = None,
    recompute: Callable[[Subject], Live | None] | None = None,
) -> ReportFiles:
    """Write the report into the folder ``output``, which is made if needed.

    ``drawn`` is called after each figure of the PDF with the number of figures drawn and their
    total. ``recompute`` returns what the page embeds to recompute; without it the page has no
    script.

    That is ``index.html``, ``report.pdf``, a PNG of each figure, and ``report.json``. The same
    input gives the same bytes. Raises OSError when writing fails.
    """
    subject = Subject(recording, prediction, sweep, validation, listed, tuned, advice)
    head = Head(_title(subject.command), _subtitle(subject), _version(subject))
    live = None if recompute is None else recompute(subject)
    return _write(output, head, sections(subject), figures_of(subject), drawn, live)


def write_tuning_report(tuned: Results, output: Path, drawn: Drawn = silent) -> ReportFiles:
    """Write the report of a tuning for which there is no recording; as ``write_report``."""
    spec = tuned.spec
    kernel = f", Linux {spec.board.kernel}" if spec.board.kernel else ""
    head = Head(_title(list(spec.command)), f"{spec.board.name}{kernel}", spec.foreread)
    shown = [section for section in tuning_sections(tuned) if section.blocks]
    return _write(output, head, shown, ReportFigures(tuning=tuning_document(tuned)), drawn)


def _write(
    output: Path,
    head: Head,
    shown: list[Section],
    figures: ReportFigures,
    drawn: Drawn,
    live: Live | None = None,
) -> ReportFiles:
    """Write all files: the PDF takes about as long as page and PNGs, which are written beside it.

    Page and PNGs share a drawing of each figure; the PDF has its own.
    """
    plots = [
        block.plot for section in shown for block in section.blocks if isinstance(block, Figure)
    ]
    pictures = tuple(output / f"{plot.name}.png" for plot in plots)
    html, pdf, numbers = (output / name for name in ("index.html", "report.pdf", "report.json"))

    def page() -> None:
        embedded = None if live is None else live_page(live)
        text = render(head.title, head.subtitle, shown, head.version, embedded)
        write_whole(html, text.encode())
        for plot, path in zip(plots, pictures, strict=True):
            write_whole(path, _picture(plot))

    output.mkdir(parents=True, exist_ok=True)
    with drawing(), beside(page):
        write_pdf(pdf, head.title, head.subtitle, _counting(shown, len(plots), drawn))
    write_whole(numbers, f"{figures.to_json()}\n".encode())
    return ReportFiles(html, pdf, numbers, pictures)


def _counting(shown: list[Section], total: int, drawn: Drawn) -> list[Section]:
    """Return the sections with figures that call ``drawn`` after each drawing."""
    done = count(1)

    def counted(block: Block) -> Block:
        if not isinstance(block, Figure):
            return block
        plot = block.plot

        def draw(canvas: Canvas) -> None:
            plot.draw(canvas)
            drawn(next(done), total)

        return Figure(replace(plot, draw=draw))

    return [
        replace(section, blocks=[counted(block) for block in section.blocks]) for section in shown
    ]


def _picture(plot: Plot) -> bytes:
    """Return a figure as PNG."""
    picture = io.BytesIO()
    plot.figure.savefig(picture, format="png", metadata={"Software": None})
    return picture.getvalue()


def _title(command: list[str] | None) -> str:
    what = "a foreign trace" if command is None else shell_words(command)
    return f"foreread: {shortened(printable(what), 120)}"


def _subtitle(subject: Subject) -> str:
    capture = subject.recording.capture
    kernel = f"Linux {subject.recording.kernel or 'of an unknown version'}"
    if capture.host is None:
        return kernel
    return f"{capture.host.nodename or 'unnamed board'}, {kernel}, recorded {capture.created}"


def _version(subject: Subject) -> str:
    return subject.recording.capture.foreread or ""
