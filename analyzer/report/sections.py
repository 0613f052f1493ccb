"""All sections of a report, in the order of a reader's questions."""

from __future__ import annotations

import numpy as np

from foreread.analyzer.report.advice import advice
from foreread.analyzer.report.answer import answer
from foreread.analyzer.report.blocks import Column, Figure, Paragraph, Section, Table
from foreread.analyzer.report.boot import programs
from foreread.analyzer.report.by_seconds import start_up, wasted
from foreread.analyzer.report.by_window import devices, measured, windows
from foreread.analyzer.report.plots import disk_plots, map_plots
from foreread.analyzer.report.prefetch import prefetch
from foreread.analyzer.report.provenance import again, board, recording
from foreread.analyzer.report.subject import Subject
from foreread.analyzer.report.tuning import tuning_sections
from foreread.analyzer.report.wording import count
from foreread.boards.base.counted import plural
from foreread.boards.base.units import kib_text, size_text

MOST_FILES = 25


def sections(subject: Subject) -> list[Section]:
    """Return the report's sections, without empty ones."""
    all_sections = [
        answer(subject),
        advice(subject.advice),
        start_up(subject),
        measured(subject),
        windows(subject),
        devices(subject),
        prefetch(subject.listed, subject.command),
        *tuning_sections(subject.tuned, subject.recording.capture),
        _reading(subject),
        board(subject),
        recording(subject),
        again(subject),
    ]
    return [section for section in all_sections if section.blocks]


def _reading(subject: Subject) -> Section:
    section = Section("reading", "What was read")
    section.blocks.extend(Figure(plot) for plot in map_plots(subject))
    if subject.recording.accesses.rows:
        section.blocks.append(_files(subject))
        section.blocks.extend(programs(subject))
        section.blocks.extend(wasted(subject))
    else:
        section.blocks.append(Paragraph("The application read no page of any file from a device."))
    section.blocks.extend(Figure(plot) for plot in disk_plots(subject))
    return section


def _files(subject: Subject) -> Table:
    files, waste = subject.recording.files, subject.waste
    accessed = files["accessed"].astype(np.int64)
    order = np.argsort(-(accessed + waste.wasted), kind="stable")
    order = order[accessed[order] > 0]
    columns = [
        Column("file", "left", share=5, is_path=True),
        Column("pages accessed"),
        Column("requests"),
        Column("unused"),
        Column("size"),
    ]
    rows = [
        [
            subject.path(file),
            count(accessed[file]),
            count(waste.requests[file]),
            count(waste.wasted[file]),
            size_text(int(files["size_bytes"][file])),
        ]
        for file in order[:MOST_FILES].tolist()
    ]
    rest = order[MOST_FILES:]
    if len(rest):
        sums = [accessed[rest].sum(), waste.requests[rest].sum(), waste.wasted[rest].sum()]
        rows.append([f"{plural(len(rest), 'other file')}", *map(count, sums), ""])
    model = "a fixed window" if subject.causes is None else f"the readahead of {subject.model_name}"
    caption = f"Requests and unused pages with {model} at {kib_text(subject.window_kb)}."
    return Table(columns, rows, f"The files that cost most pages. {caption}")
