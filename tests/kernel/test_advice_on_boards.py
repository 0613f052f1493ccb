"""Each kind of row of ``foreread advise``, measured by ``foreread confirm --advice`` on a board."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from advice_shim import built
from prefetch_replayers import REPLAYERS

from foreread.boards.emulated.image import SAMPLE, silent_mp3
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


def test_a_window_saves_what_was_predicted(folder, capsys):
    number = row_of(folder, "window")
    found = confirmed(folder, capsys, number)
    assert found["outcome"] == "confirmed"
    assert found["change"] == ""
    assert found["low"] - 0.02 <= found["predicted_gain"] <= found["high"] + 0.02


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


TOUCHES = """
#include <fcntl.h>
#include <sys/mman.h>
int main(void)
{
    const volatile char *at = mmap(0, LENGTH, PROT_READ, MAP_PRIVATE, open(NAME, O_RDONLY), 0);
    for (long place = 0; place < LENGTH; place += 4096)
        (void)at[place];
    return 0;
}
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return built(tmp_path_factory.mktemp("shim"), compiler="x86_64-linux-gnu-gcc")


@pytest.fixture(scope="module")
def touches(folder):
    """The capture of a program that touches a mapped file in order, and two more on the board.

    One is linked statically, the other one set-user-ID.
    """
    source = folder / "touches.c"
    source.write_text(TOUCHES)
    names = [f'-DNAME="/{SAMPLE}"', f"-DLENGTH={len(silent_mp3(60)) // 4096 * 4096}L"]
    with open_target(BOARD) as board:
        for name, flags in (("touches", []), ("static", ["-static"]), ("setuid", [])):
            program = folder / name
            words = ["x86_64-linux-gnu-gcc", "-O1", *names, *flags, "-o", program, source]
            subprocess.run(words, check=True)
            content = program.read_bytes()
            assert board.run(["sh", "-c", f"cat >/usr/bin/{name}"], stdin=content).status == 0
            mode = "4755" if name == "setuid" else "755"
            assert board.run(["chmod", mode, f"/usr/bin/{name}"]).status == 0
    capture = folder / "touches.capture"
    assert main(["record", "--target", BOARD, "-o", str(capture), "--", "touches"]) == 0
    return capture


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


def test_the_shim_is_in_the_proposed_runs_alone(folder, touches, shim, capsys):
    """A file whose pages are read one by one is slow; NORMAL changes nothing but is loaded."""
    gains = {}
    for advice in ("random", "normal"):
        changed = advised(folder, touches, advice)
        capsys.readouterr()
        words = ["--advice", str(changed), "--shim", str(shim), "--seed", "1", "--json"]
        assert main(["confirm", str(touches), *words]) == 0
        gains[advice] = json.loads(capsys.readouterr().out)["gain"]
    assert gains["random"] < -1
    assert abs(gains["normal"]) < LEAST_SAVED


@pytest.mark.parametrize("name", ["static", "setuid"])
def test_a_command_that_preloads_nothing_is_refused(folder, touches, shim, capsys, name):
    capture = folder / f"{name}.capture"
    assert main(["record", "--target", BOARD, "-o", str(capture), "--", name]) == 0
    expected = {"static": "is statically linked", "setuid": "is set-user-ID"}[name]
    assert expected in refusal(capture, advised(folder, capture, "random"), shim, capsys)


def test_a_library_of_another_processor_is_refused(folder, touches, tmp_path, capsys):
    other = built(tmp_path, compiler="aarch64-linux-gnu-gcc")
    said = refusal(touches, advised(folder, touches, "random"), other, capsys)
    assert "cannot load the shim" in said


def refusal(capture, changed, library, capsys):
    capsys.readouterr()
    words = ["--advice", str(changed), "--shim", str(library)]
    assert main(["confirm", str(capture), *words]) == 1
    return capsys.readouterr().err


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
