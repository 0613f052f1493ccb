"""The reader is chosen by content; what is not a trace is named."""

import os
import shutil
from pathlib import Path

import pytest

from analyzer.ingest.detect import open_trace
from analyzer.ingest.recording import TraceError

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


@pytest.mark.parametrize("magic", [b"PERFILE2", b"2ELIFREP"])
def test_perf_data_goes_to_its_reader(tmp_path, magic):
    path = tmp_path / "trace.dat"
    path.write_bytes(magic + bytes(200))
    with pytest.raises(TraceError, match=r"perf\.data"):
        open_trace(path)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "empty"),
        (b"\x7fELF\2\1\1", "program"),
        (b"\x89PNG\r\n\x1a\n\0", "89 50 4e 47"),
        (b"dear diary\n", "text without"),
    ],
)
def test_files_that_are_not_traces_are_described(tmp_path, content, found):
    path = tmp_path / "trace.dat"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=found) as caught:
        open_trace(path)
    assert "perf.data" in caught.value.remedy
    assert "trace.dat" in caught.value.remedy


def test_an_unopenable_file_is_named(tmp_path):
    with pytest.raises(TraceError, match="No such file"):
        open_trace(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TraceError, match="neither a file nor a directory"):
        open_trace(tmp_path / "pipe")
    with pytest.raises(TraceError, match="no pages"):
        open_trace(tmp_path)
