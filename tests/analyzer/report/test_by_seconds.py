"""The report of the kernel's model with seconds, on a real capture and sweep of a board."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.linux import predict_linux
from foreread.analyzer.predict.validate import validate
from foreread.analyzer.report.answer import answer, headline
from foreread.analyzer.report.by_seconds import start_up, wasted
from foreread.analyzer.report.page import render
from foreread.analyzer.report.sections import sections
from foreread.analyzer.report.style import drawing
from foreread.analyzer.report.subject import Subject
from foreread.analyzer.report.wording import percent
from foreread.analyzer.report.write import write_report
from foreread.emulator.devices.device import FixedCost
from foreread.tracer.formats.sweep import read_sweep

EXAMPLE = Path(__file__).parents[2] / "foreread/data/arm64-madplay"
WINDOWS = [0, 1, 2, 4, 8, 12, 16, 24, 32, 128]


def predicted(model):
    recording = load(EXAMPLE / "arm64-madplay.capture.tar.xz")
    device = FixedCost(1e6, 5e4, band=0.02)
    prediction = predict_linux(recording, model, WINDOWS, device)
    sweep = read_sweep(EXAMPLE / "arm64-madplay.sweep.json")
    return Subject(recording, prediction, sweep, validate(prediction, sweep))


@pytest.fixture(scope="module")
def decided():
    """For the kernel of the capture, on which seconds were judged."""
    return predicted("linux")


@pytest.fixture(scope="module")
def unconfirmed():
    """For a kernel on which none were."""
    return predicted("linux-6.6")


def text_of(*blocks):
    with drawing():
        page = render("t", "s", list(blocks), "0").replace("<wbr>", "")
        return re.sub(r"<[^>]+>|\s+", " ", page)


def test_the_headline_is_the_window_of_the_verdict(decided):
    total = decided.prediction.total
    assert decided.window == total.smallest_within
    assert headline(decided).startswith(f"Set read_ahead_kb to {decided.window_kb:,} KiB")
    assert total.smallest_within != total.quasi_optimal


@pytest.mark.thorough
def test_figures_of_both_models_and_of_seconds_are_there(decided, tmp_path):
    files = write_report(
        decided.recording, decided.prediction, decided.sweep, decided.validation, tmp_path
    )
    names = [path.stem for path in files.figures]
    assert names[:4] == ["seconds", "spent", "models-requests", "models-pages"]
    assert not {"measured-seconds", "measured-requests", "requests-and-waste"} & set(names)
    document = json.loads(files.json.read_text())
    assert (
        document["prediction"]["total"]["seconds_low"][0]
        < document["prediction"]["total"]["seconds"][0]
    )
    total = decided.prediction.total
    at = total.windows.index(decided.window)
    assert sum(one["pages_wasted"] for one in document["waste"]["files"]) == total.g[at]
    assert all(sum(f["by_rule"].values()) == f["pages_wasted"] for f in document["waste"]["files"])


def test_the_published_criterion_is_shown_with_its_regret(decided):
    said = text_of(start_up(decided))
    total = decided.prediction.total
    best, quasi, default = (
        total.seconds_at(w) for w in (total.predicted_best, total.quasi_optimal, 32)
    )
    assert "F² + G², the published criterion" in said
    assert percent((quasi - best) / default) in said
    assert decided.prediction.regret_quasi_optimal == pytest.approx((quasi - best) / default)


def test_unconfirmed_seconds_decide_and_the_answer_has_the_doubt(unconfirmed):
    assert unconfirmed.prediction.verdict.by == "seconds"
    assert "The predicted seconds are unconfirmed for Linux 6.6" in text_of(answer(unconfirmed))


def test_rules_and_files_are_named(decided):
    said = text_of(sections(decided)[0], replace(sections(decided)[0], blocks=wasted(decided)))
    for words in ("around a fault", "next window, in advance", "/usr/bin/madplay"):
        assert words in said


def test_the_fixed_window_has_none_of_it(make, app):
    subject = Subject(app, make.prediction(app), None, None)
    assert not start_up(subject).blocks
    assert wasted(subject) == []


def test_seconds_without_band_or_parts_are_drawn_too(make, app):
    """As a prediction of an older foreread, or of another program, may be."""
    subject = Subject(app, make.prediction(app, seconds=True), None, None)
    assert len([b for b in start_up(subject).blocks if b.kind == "figure"]) == 1
    text_of(start_up(subject))
