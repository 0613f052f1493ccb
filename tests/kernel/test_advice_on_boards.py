"""Each kind of row of ``foreread advise``, measured by ``foreread confirm --advice`` on a board."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from advice_shim import built
from prefetch_replayers import REPLAYERS

from foreread.boards.emulated.image import SAMPLE
from foreread.boards.emulated.state import default_states
from foreread.boards.open import open_target
from foreread.cli.main import main
from foreread.tracer.formats.capture import read

pytestmark = [pytest.mark.boards, pytest.mark.thorough]

BOARD = "advised"
PLAY = ("madplay", "-Q", "-o", "null:", "-t", "1", f"/{SAMPLE}")
KNOB = "/sys/block/slow0/queue/read_ahead_kb"
PRESENT_KB = 128
LEAST_SAVED = 0.05


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A board that runs, with the capture of a start and the table of its advice."""
    folder = tmp_path_factory.mktemp("advice")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        words = [
            "--kernel",
            "6.12",
            "--fs",
            "ext4",
            "--latency-us",
            "1000",
            "--ns-per-kib",
            "50000",
        ]
        assert main(["boards", "start", "x86_64", "--name", BOARD, *words]) == 0
        try:
            capture = str(folder / "capture")
            assert main(["record", "--target", BOARD, "-o", capture, "--", *PLAY]) == 0
            assert main(["advise", capture, "-o", str(folder / "advice")]) == 0
            yield folder
        finally:
            assert main(["boards", "stop", "--all"]) == 0
    assert not list(default_states().glob("[!.]*"))


@pytest.fixture(scope="module")
def replayer(tmp_path_factory):
    program = tmp_path_factory.mktemp("replayer") / "foreread-prefetch"
    source = REPLAYERS / "foreread-prefetch.c"
    subprocess.run(["x86_64-linux-gnu-gcc", "-O2", "-static", "-o", program, source], check=True)
    return program


def table(folder):
    return json.loads((folder / "advice/advice.json").read_text())


def row_of(folder, kind):
    return next(at for at, row in enumerate(table(folder)["rows"], 1) if row["kind"] == kind)


def confirmed(folder, capsys, number, *words):
    capsys.readouterr()
    asked = ["confirm", str(folder / "capture"), "--advice", str(folder / "advice"), "--json"]
    assert main([*asked, "--row", str(number), "--seed", "1", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    with open_target(BOARD) as board:
        assert board.read_knob(KNOB) == str(PRESENT_KB)
    print(found["change"], found["gain"], found["low"], found["high"], found["predicted_gain"])
    return found


@pytest.mark.parametrize("kind", ["list", "beside"])
def test_a_list_saves_what_was_predicted_or_nearly(folder, replayer, capsys, kind):
    number = row_of(folder, kind)
    found = confirmed(folder, capsys, number, "--replayer", str(replayer))
    assert found["outcome"] == "confirmed"
    assert found["change"] == table(folder)["rows"][number - 1]["what"]
    assert found["predicted_gain"] > LEAST_SAVED
    assert found["low"] > found["predicted_gain"] / 2
    assert (found["present_kb"], found["proposed_kb"]) == (PRESENT_KB, PRESENT_KB)
    assert found["disturbed"] <= 1


def test_a_window_saves_what_was_predicted(folder, capsys):
    number = row_of(folder, "window")
    found = confirmed(folder, capsys, number)
    assert found["outcome"] == "confirmed"
    assert found["change"] == ""
    assert found["low"] - 0.02 <= found["predicted_gain"] <= found["high"] + 0.02
    assert found["disturbed"] <= 1


def test_windows_in_phases_are_in_force_during_the_proposed_runs(folder, capsys):
    """Of 0 KiB, whose runs are slow, and 512 KiB when all is over: slow; at once: not so slow."""
    text = table(folder)
    number, gains = row_of(folder, "window"), []
    for after_s in (60.0, 0.0):
        later = [{"after_s": after_s, "read_ahead_kb": 512}]
        row = text["rows"][number - 1] | {"trial": {"read_ahead_kb": 0, "later": later}}
        rows = [*text["rows"][: number - 1], row, *text["rows"][number:]]
        changed = folder / "phases.json"
        changed.write_text(json.dumps(text | {"rows": rows}))
        gains.append(confirmed(folder, capsys, number, "--advice", str(changed))["gain"])
    assert gains[0] < -LEAST_SAVED
    assert gains[1] > gains[0] + LEAST_SAVED


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return built(tmp_path_factory.mktemp("shim"), compiler="x86_64-linux-gnu-gcc")


def advised(folder, capture, advice):
    """Return the folder of a table whose first row has the advice, about a capture."""
    text = table(folder)
    trial = {"advice": [{"call": "madvise", "advice": advice, "path": f"/{SAMPLE}"}]}
    first = text["rows"][0] | {"kind": "access", "trial": trial}
    recorded = read(capture)[0]
    about = {"command": recorded.command, "recorded": recorded.created}
    changed = folder / f"{capture.name}-{advice}"
    changed.mkdir(exist_ok=True)
    (changed / "advice.json").write_text(json.dumps(text | about | {"rows": [first]}))
    return changed


def test_the_shim_is_in_the_proposed_runs_alone(folder, shim, capsys):
    """A mapped file whose pages come one by one is slow; NORMAL changes nothing but loads it."""
    gains = {}
    for advice in ("random", "normal"):
        changed = advised(folder, folder / "capture", advice)
        words = ["--advice", str(changed), "--shim", str(shim)]
        gains[advice] = confirmed(folder, capsys, 1, *words)["gain"]
    assert gains["random"] < -LEAST_SAVED
    assert abs(gains["normal"]) < LEAST_SAVED / 2


def test_commands_that_preload_nothing_are_refused_before_any_run(folder, shim, capsys):
    """A statically linked program, a set-user-ID one, and a library of another processor."""
    places = {"static": "/bin/busybox", "setuid": "/usr/bin/madplay-suid"}
    with open_target(BOARD) as board:
        board.run(["cp", "/usr/bin/madplay", places["setuid"]])
        board.run(["chmod", "4755", places["setuid"]])
    expected = {"static": "is statically linked", "setuid": "is set-user-ID"}
    for name, program in places.items():
        capture = folder / name
        words = [program, "true"] if name == "static" else [program, "--version"]
        assert main(["record", "--target", BOARD, "-o", str(capture), "--", *words]) == 0
        said = refusal(capture, advised(folder, capture, "random"), shim, capsys)
        assert expected[name] in said
    other = built(folder, compiler="aarch64-linux-gnu-gcc")
    said = refusal(folder / "capture", advised(folder, folder / "capture", "random"), other, capsys)
    assert "cannot load the shim" in said


def refusal(capture, changed, library, capsys):
    capsys.readouterr()
    words = ["--advice", str(changed), "--shim", str(library), "--read-ahead-kb"]
    assert main(["confirm", str(capture), *words[:-1]]) == 1
    return capsys.readouterr().err


def test_a_row_without_its_shim_says_how_to_build_it(folder, capsys):
    changed = advised(folder, folder / "capture", "random")
    capsys.readouterr()
    assert main(["confirm", str(folder / "capture"), "--advice", str(changed)]) == 1
    said = capsys.readouterr().err
    assert "-shared -fPIC -o foreread-advice.so" in said
    assert "--shim" in said


@pytest.mark.parametrize("kind", ["early", "metadata"])
def test_a_row_that_needs_a_build_is_refused_before_any_run(folder, capsys, kind):
    capsys.readouterr()
    words = ["--advice", str(folder / "advice"), "--row", str(row_of(folder, kind))]
    assert main(["confirm", str(folder / "capture"), *words]) == 1
    said = capsys.readouterr().err
    assert "which confirm cannot make" in said
    assert f"foreread sweep --windows {PRESENT_KB}" in said


def test_another_capture_is_refused_before_any_run(folder, capsys):
    """The start recorded again, on the same board, is another capture."""
    again = str(folder / "again")
    assert main(["record", "--target", BOARD, "-o", again, "--", *PLAY]) == 0
    capsys.readouterr()
    table_file = Path(folder / "advice/advice.json")
    assert main(["confirm", again, "--advice", str(table_file)]) == 1
    assert "is advice about another capture" in capsys.readouterr().err
