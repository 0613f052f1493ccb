"""``foreread predict --explain``: how the seconds of one window come about."""

import json
import re
from pathlib import Path

import pytest

from foreread.cli.main import main

ROOT = Path(__file__).parents[3]
CAPTURE = str(ROOT / "examples/python-start/python-start.capture.tar.xz")
WINDOWS = ("--windows", "0,32,128")


def explained(capsys, *words):
    code = main(["predict", CAPTURE, *words])
    return code, capsys.readouterr()


def seconds(text, name):
    """Return the seconds in the line of a name."""
    (line,) = (line for line in text.splitlines() if line.split()[0] == name)
    return [float(word) for word in line.split() if re.fullmatch(r"\d+\.\d{3}", word)]


def test_the_steps_lead_to_the_seconds_and_the_band_of_the_document(capsys):
    code, shown = explained(capsys, *WINDOWS, "--explain", "128")
    assert code == 0
    text = shown.out
    assert len(text.splitlines()) <= 25
    total = json.loads(explained(capsys, *WINDOWS, "--json")[1].out)["total"]
    row = total["read_ahead_kb"].index(128)
    assert f"{total['pages'][row]:,} pages in {total['F'][row]:,} requests" in text
    parts = [seconds(text, name)[0] for name in ("computing", "waiting", "asleep")]
    assert sum(parts) == pytest.approx(seconds(text, "sum")[0], abs=0.0016)
    assert seconds(text, "sum")[0] == pytest.approx(total["seconds"][row], abs=0.0006)
    low, high, _ = seconds(text, "band")  # the last number is of deviations
    assert low == pytest.approx(total["seconds_low"][row], abs=0.0006)
    assert high == pytest.approx(total["seconds_high"][row], abs=0.0006)
    squares = sum(seconds(text, name)[0] ** 2 for name in ("draws", "replay", "doubts"))
    assert (high - low) / 2 == pytest.approx(1.645 * squares**0.5, abs=0.003)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*WINDOWS, "--explain", "64"), "choose one of 0, 32, 128, or name it with --windows"),
        (("--model", "fixed", "--explain", "32"), "there are no seconds: "),
        (("--explain", "32", "--json"), "--json has the same figures"),
        (("--explain", "32", "--image", "root.erofs"), "without --image"),
        (("--explain", "32", "--measured", "sweep.json"), "without --measured"),
    ],
)
def test_a_window_that_cannot_be_explained_is_wrong_usage(capsys, words, message):
    code, shown = explained(capsys, *words)
    assert code == 2
    assert shown.out == ""
    assert message in shown.err
