"""``foreread confirm`` and ``sweep`` of a capture on emulated boards, by ssh and over a console."""

from __future__ import annotations

import json

import pytest

from foreread.boards.emulated.image import SAMPLE
from foreread.boards.emulated.live import LiveBoard, LiveOptions, boot
from foreread.boards.emulated.state import default_states
from foreread.boards.open import open_target
from foreread.cli.main import main

pytestmark = pytest.mark.boards

PLAY = ("madplay", "-Q", "-o", "null:", "-t", "1", f"/{SAMPLE}")
KNOB = "/sys/block/slow0/queue/read_ahead_kb"
DEFAULT_KB = "128"
COST = 'kind = "fixed"\nlatency_us = 1000\nns_per_kib = 50000\n'


@pytest.fixture(params=["arm64", "mipsel"])
def target(request, tmp_path, monkeypatch):
    """The name of a board: arm64 is reached by ssh, mipsel over its console."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    if request.param == "arm64":
        assert main(["boards", "start", "arm64"]) == 0
        yield "arm64"
        assert main(["boards", "stop", "--all"]) == 0
    else:
        board: LiveBoard = boot(LiveOptions("mipsel"))
        yield board.console
        board.stop()
    assert not list(default_states().glob("[!.]*"))


def said(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_gain_is_measured_stored_and_cited(target, tmp_path, capsys):
    capture, cost = str(tmp_path / "capture"), tmp_path / "cost.toml"
    cost.write_text(COST)
    assert main(["record", "--target", target, "-o", capture, "--", *PLAY]) == 0
    capsys.readouterr()
    # 4 KiB instead of 128 KiB: one request for every page.
    found = said(capsys, "confirm", capture, "--read-ahead-kb", "4", "--seed", "2")
    assert found["outcome"] == "contradicted"
    assert found["present_kb"] == int(DEFAULT_KB)
    assert found["high"] < -0.05
    assert found["target"] == target
    with open_target(target) as board:
        assert board.read_knob(KNOB) == DEFAULT_KB
    cited = said(capsys, "predict", capture, "--device-model", str(cost))["confirmations"]
    assert cited == [{key: found[key] for key in cited[0]}]
    script = ["script", capture, "--read-ahead-kb", "4", "-o", str(tmp_path / "boot")]
    assert main(script) == 1
    assert "contradicted on" in capsys.readouterr().err
    words = ["--windows", "0", "--repeat", "1", "--device-model", str(cost)]
    swept = said(capsys, "sweep", capture, *words, "-o", str(tmp_path / "sweep.json"))
    proposed = said(capsys, "predict", capture, "--device-model", str(cost))["verdict"]
    kib = {point["read_ahead_kb"] for point in swept["points"]}
    assert kib == {0, proposed["read_ahead_kb"]}
