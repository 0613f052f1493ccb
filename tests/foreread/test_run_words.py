"""The options in a capture repeat the run that was recorded."""

from pathlib import Path

import pytest
from msgspec import structs

from foreread.analyzer.ingest.load import load
from foreread.recording.words import recorded_run, recorded_target, target_words, words_of
from foreread.tracer.formats.capture import CaptureError
from foreread.tracer.runs.options import Ending, RunOptions, Streams

EXAMPLE = Path(__file__).parents[2] / "examples/python-start/python-start.capture.tar.xz"


@pytest.fixture(scope="module")
def capture():
    return load(EXAMPLE).capture


@pytest.mark.parametrize(
    "run",
    [
        RunOptions(["app"]),
        RunOptions(["app"], Ending(1.5, 200.0, "ready|-- up"), user="kiosk"),
        RunOptions(["app"], Ending(output="--keep"), keep_running=True, allow_warm=True),
    ],
)
def test_words_of_a_run_give_the_run_again(run, capture):
    words = [*target_words("ssh://root@board", Path("/keys/id")), *words_of(run, 64)]
    recorded = structs.replace(capture, command=run.command, options=words)
    again = recorded_run(recorded, Streams())
    assert (again.command, again.ending, again.user) == (run.command, run.ending, run.user)
    assert (again.keep_running, again.allow_warm) == (run.keep_running, run.allow_warm)
    assert again.cwd == Path(capture.cwd)
    assert recorded_target(recorded) == "ssh://root@board"


def test_this_machine_has_no_words(capture):
    assert target_words("local") == ()
    assert words_of(RunOptions(["app"])) == ()
    assert recorded_target(structs.replace(capture, options=[])) == "local"


@pytest.mark.parametrize(
    "words",
    [
        ["--duration", "soon"],
        ["--duration", "nan"],
        ["--duration", "-1"],
        ["--until-idle", "inf"],
        ["--until-output", "("],
        ["--target"],
    ],
)
def test_words_that_make_no_sense_are_refused(words, capture):
    with pytest.raises(CaptureError, match="cannot be parsed") as error:
        recorded_run(structs.replace(capture, options=words), Streams())
    assert error.value.remedy
