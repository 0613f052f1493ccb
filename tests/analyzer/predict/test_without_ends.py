"""Requests without completions: no seconds, but requests, pages, and the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from foreread.analyzer.advise.advise import advise
from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.report.make import report

DATA = Path(__file__).parents[2]
CAPTURE = DATA / "foreread/data/no-completions/no-completions.capture.tar.xz"
WHY = "no request of the recording has an end"
LINE = "{} [001] ..... {:.6f}: {}\n"


@pytest.fixture(scope="module")
def recording():
    return load(CAPTURE)


def test_requests_and_pages_are_predicted(recording):
    found = predict_by(recording, windows=[0])
    on_squashfs = next(curve for curve in found.devices if curve.name == "loop1")
    assert (on_squashfs.f, on_squashfs.pages) == ([8], [256])
    assert found.total.seconds is None
    assert (found.verdict.action, found.verdict.why) == ("measure", f"no predicted seconds: {WHY}")


def test_advice_says_why_there_is_none(recording):
    with pytest.raises(AnalyzerError, match=WHY):
        advise(recording)


@pytest.mark.thorough
def test_a_report_is_made(recording, tmp_path):
    report(recording, tmp_path / "out")
    assert WHY in (tmp_path / "out/index.html").read_text()


def followed(tmp_path, ends=()):
    """A text as trace_pipe prints it with set_event_pid; ``ends`` are further events."""
    events = []
    for page in range(40):
        at = 100 + page / 1000
        of_page = f"mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=0x1 ofs={4096 * page} order=0"
        events += [
            LINE.format("app-7", at, of_page),
            LINE.format("app-7", at + 1e-5, f"block_bio_queue: 8,0 R {8 * page} + 8 [app]"),
            LINE.format("app-7", at + 2e-5, f"block_rq_issue: 8,0 R 4096 () {8 * page} + 8 [app]"),
        ]
    path = tmp_path / "trace.txt"
    path.write_text("".join([*events, *ends]))
    return load(path, "all")


@pytest.mark.parametrize("end", [(), ("block_rq_complete: 8,0 W () 9000 + 8 [0]",)])
def test_a_trace_that_follows_one_process_has_no_seconds(tmp_path, end):
    """A write that is completed is not the end of a read."""
    ends = [LINE.format("<idle>-0", 101, text) for text in end]
    found = predict_by(followed(tmp_path, ends), model="linux-6.12", windows=[0, 32])
    assert found.total.f[0] == 40
    assert found.total.seconds is None
    assert found.verdict.why == f"no predicted seconds: {WHY}"
