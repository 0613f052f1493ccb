"""The README's own example, recorded and measured on an emulated board: the verdict must hold."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.boards

PLAY = ("madplay", "-o", "null:", "-t", "1", "/sample.mp3")
WINDOWS_KB = (4, 16, 32, 48, 64, 96, 128)
MOST_REGRET = 0.05  # in parts of the time at 128 KiB


def foreread(*words):
    command = [sys.executable, "-m", "foreread", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("board", ["arm64", "armhf"])
def test_the_window_of_the_verdict_is_about_as_fast_as_the_best(board, tmp_path, capsys):
    capture = tmp_path / "capture"
    foreread("record", "--target", board, "-o", capture, "--", *PLAY)
    found = json.loads(foreread("predict", "--json", "--device-model", board, capture))
    verdict = found["verdict"]
    assert (verdict["action"], verdict["by"]) == ("set", "seconds")
    windows = ",".join(f"{kb}k" for kb in sorted({*WINDOWS_KB, verdict["read_ahead_kb"]}))
    words = ("--json", "--windows", windows, "--repeat", 1, "-o", tmp_path / "sweep.json")
    swept = json.loads(foreread("sweep", *words, capture))
    seconds = {point["read_ahead_kb"]: point["seconds"][0] for point in swept["points"]}
    regret = (seconds[verdict["read_ahead_kb"]] - min(seconds.values())) / seconds[128]
    with capsys.disabled():
        print(f"\n  {board}: {verdict['read_ahead_kb']} KiB, regret {100 * regret:.1f} %", end="")
    assert regret <= MOST_REGRET
