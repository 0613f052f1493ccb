"""The reader is chosen by content; what is not a trace is named."""

import os
import shutil
from pathlib import Path

import pytest

from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.recording import TraceError

FIXTURES = Path(__file__).parent / "data" / "ftrace"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("v6.trace.dat", "trace.dat v6"),
        ("v7-zstd.trace.dat", "trace.dat v7"),
        ("trace.txt", "tracefs text"),
        ("v7-zstd.report.txt", "tracefs text"),
    ],
)
def test_content_decides_and_names_do_not(tmp_path, name, kind):
    odd = Path(shutil.copy(FIXTURES / name, tmp_path / "perf.data.gz"))
    assert open_trace(odd).format == kind


def test_a_directory_of_pages():
    assert open_trace(FIXTURES / "pages").format == "tracefs pages"


def test_an_unopenable_file_is_named(tmp_path):
    with pytest.raises(TraceError, match="No such file"):
        open_trace(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TraceError, match="neither a file nor a directory"):
        open_trace(tmp_path / "pipe")
    with pytest.raises(TraceError, match="no pages of a ring buffer") as caught:
        open_trace(tmp_path)
    assert "perf.data" in caught.value.remedy
