"""The whole main job on each emulated board, by the command line and nothing else.

A board is started; the application is recorded once, its windows are predicted and swept, the
prediction is validated, the report written, the boot script installed, and the board rebooted.
Figures are printed (``make test-all`` keeps them in its logs).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import left_s

from foreread.boards.emulated import MACHINES
from foreread.boards.emulated.image import SAMPLE
from foreread.boards.open import open_target

pytestmark = pytest.mark.boards

PLAY = ("madplay", "-Q", "-o", "null:", "-t", "1", f"/{SAMPLE}")
KNOB = "/sys/block/slow0/queue/read_ahead_kb"
DEFAULT_KB = 128
WINDOWS_KB = (0, 16, 64, 1024)


def foreread(*words: str | Path) -> str:
    """Run the command line; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "foreread", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=left_s(),
        check=False,
    )
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def tell(capsys, text):
    with capsys.disabled():
        print(f"\n  {text}", end="")


@pytest.fixture(autouse=True)
def _boards_of_our_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield
    foreread("boards", "stop", "--all")


@pytest.mark.parametrize("name", MACHINES)
def test_from_one_recorded_run_to_the_next_boot(name, tmp_path, capsys):
    capture, swept = tmp_path / "capture", tmp_path / "sweep.json"
    foreread("boards", "start", name)
    with open_target(name) as board:
        foreread("record", "--target", name, "-o", capture, "--", *PLAY)
        assert board.read_knob(KNOB) == str(DEFAULT_KB)
        recorded = json.loads((capture / "capture.json").read_text())
        assert recorded["host"]["kernel"].startswith(f"{MACHINES[name].default_kernel}.")
        assert sum(recorded["lost"].values()) == 0
        assert recorded["cold"]["proven"]
        assert f"/{SAMPLE}" in foreread("show", capture)

        windows = ",".join(f"{kb}k" for kb in WINDOWS_KB)
        sweeping = ("sweep", "--target", name, "--windows", windows, "--repeat", "2", "-o", swept)
        points = json.loads(foreread(*sweeping, "--json", "--", *PLAY))["points"]
        assert [point["read_ahead_kb"] for point in points] == list(WINDOWS_KB)
        assert board.read_knob(KNOB) == str(DEFAULT_KB)

        prediction = json.loads(foreread("predict", capture, "--windows", windows, "--json"))
        (disk,) = prediction["devices"]
        validated = json.loads(foreread("predict", capture, "--measured", swept, "--json"))
        tell(capsys, f"{name}: F predicted {disk['F']} at {WINDOWS_KB} KiB")
        tell(capsys, f"  requests {[one['requests'] for one in points]}")
        tell(capsys, f"  seconds {[one['seconds'] for one in points]}")
        tell(capsys, f"  F_error_median {validated['F_error_median']}")
        # At window 0 a request is a page; the sweep counts metadata, too, and misses none.
        assert disk["F"][0] == disk["tap"] <= min(points[0]["requests"])
        assert max(points[0]["requests"]) <= 1.25 * disk["tap"]

        foreread("report", capture, swept, "-o", tmp_path / "report")
        assert recorded["host"]["machine"] in (tmp_path / "report/index.html").read_text()

        script = ("script", capture, "-o", tmp_path / "script", "--read-ahead-kb", "64")
        foreread(*script, "--install", "--target", name)
        board.reboot(left_s())
        assert board.read_knob(KNOB) == "64"
        foreread("script", "--uninstall", "--target", name)
        board.reboot(left_s())
        assert board.read_knob(KNOB) == str(DEFAULT_KB)
