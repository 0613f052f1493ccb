"""Kernels that the user judged, in predictions."""

from __future__ import annotations

import pytest
from capture_builder import capture_of, host_of
from event_table import insert, read, table
from judgements import judged_of

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.predict.doubts.doubt import Doubt
from foreread.analyzer.predict.doubts.kernel import of_model
from foreread.analyzer.predict.linux import predict_linux
from foreread.boards.judged import list_path, store
from foreread.tracer.formats.capture import FileEntry, Mount

KERNEL = "5.4.77"
UNTRIED = "the readahead model was not compared with a running kernel for Linux 5.4"


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def recorded(fstype="ext4", **host):
    """A recording on a kernel that nobody tried."""
    capture = capture_of(
        host=host_of(kernel=KERNEL, **host),
        mounts=[Mount(dev="7:0", mountpoint="/", fstype=fstype, source="", options="")],
    )
    trace = Trace("test", table(insert(1, 0, dev=7 << 20), read(0, 1, dev=7 << 20)), kernel=KERNEL)
    entries = [FileEntry(dev="7:0", ino=1, path="/a", size_bytes=4096)]
    return interpret(trace, capture, entries, "all")


def known(recording, version=(5, 4, 77)):
    return of_model(recording, version)


def test_an_untried_kernel_is_doubted():
    assert (known(recorded()).doubts, known(recorded()).notes) == ((Doubt(UNTRIED),), ())


def test_a_confirmed_kernel_is_not_doubted_and_says_so():
    store(judged_of(release=KERNEL))
    prediction = predict_linux(recorded(), windows=[0, 32])
    assert UNTRIED not in prediction.doubts
    assert any("confirmed on this kernel" in note for note in prediction.notes)


def test_a_kernel_that_differs_is_doubted_with_the_difference():
    store(judged_of(release=KERNEL, result="different", difference="step 3 reads page 9"))
    (doubt,) = known(recorded()).doubts
    assert "differs from the model" in doubt.text
    assert "step 3 reads page 9" in doubt.text
    assert doubt.text in predict_linux(recorded(), windows=[0, 32]).doubts


@pytest.mark.parametrize(
    "changes",
    [
        {"release": "5.4.78"},
        {"release": KERNEL, "version": "#2 another build"},
        {"release": KERNEL, "machine": "aarch64"},
        {"release": KERNEL, "page_size": 16384},
        {"release": KERNEL, "file_system": "xfs"},
        {"release": "nonsense"},
    ],
)
def test_a_judgement_of_another_kernel_or_file_system_says_nothing(changes):
    store(judged_of(**changes))
    assert known(recorded()).doubts == (Doubt(UNTRIED),)


def test_a_judgement_says_nothing_of_another_model():
    store(judged_of(release=KERNEL))
    assert known(recorded(), (5, 15)).doubts == (Doubt(UNTRIED.replace("5.4", "5.15")),)


def test_a_damaged_list_is_a_note():
    list_path().parent.mkdir(parents=True)
    list_path().write_text("{")
    found = known(recorded())
    assert found.doubts == (Doubt(UNTRIED),)
    assert "judged kernels are not considered" in found.notes[0]
