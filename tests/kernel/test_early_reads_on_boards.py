"""Reads that an application asks for earlier: what advise predicts that they save, and measured."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from statistics import median

import pytest

import foreread
from foreread.analyzer.advise.applications import early
from foreread.analyzer.advise.bench import Bench
from foreread.analyzer.advise.situation import situation_of
from foreread.boards.open import open_target
from foreread.cli.main import main

pytestmark = [pytest.mark.boards, pytest.mark.thorough, pytest.mark.timeout(1800)]

BOARD = "early"
SOURCE = Path(__file__).parent.parent / "support/touch_pages.c"
PROGRAM, DATA = "/usr/bin/touch_pages", "/root/data"
PRESENT_KB = 128
CLOSE = 0.01  # of the start's seconds


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = tmp_path_factory.mktemp("touch")
    program, data = folder / "touch_pages", folder / "data"
    words = ["x86_64-linux-gnu-gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-static"]
    subprocess.run([*words, "-o", program, SOURCE], check=True)
    data.write_bytes(b"\1" * (2 << 20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        disk = ["--fs", "ext4", "--latency-us", "1000", "--ns-per-kib", "50000"]
        assert main(["boards", "start", "x86_64", "--name", BOARD, "--kernel", "6.12", *disk]) == 0
        with open_target(BOARD) as target:
            target.push(program, PROGRAM, 0o755)
            target.push(data, DATA, 0o644)
            assert target.run(["sync"]).status == 0
        yield BOARD
        assert main(["boards", "stop", "--all"]) == 0


def recorded(folder, call, piece):
    capture = folder / call
    start = [PROGRAM, call, DATA, str(piece)]
    assert main(["record", "--target", BOARD, "-o", str(capture), "--", *start]) == 0
    return capture


def seconds(capture, capsys):
    """Return the median of three runs under the present window."""
    words = ["--windows", f"{PRESENT_KB}k", "--repeat", "3", "-o", f"{capture}.json"]
    capsys.readouterr()
    assert main(["sweep", "--json", *words, str(capture)]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    runs = next(one for one in points if one["read_ahead_kb"] == PRESENT_KB)
    return median(runs["seconds"])


def test_early_reads_save_what_was_predicted(board, tmp_path, capsys):
    """In pieces of the disk's largest request: a longer one ends in a request of its own."""
    capture = recorded(tmp_path, "NONE", 1)
    situation = situation_of([foreread.load(capture)])
    bench, now = Bench(situation), seconds(capture, capsys)
    machine = situation.present[0].run.machine
    found = {}
    for offer in early(situation):
        if DATA in offer.what:
            call = offer.what.partition(" ")[0].removeprefix("MADV_").removesuffix("_READ")
            with_call = recorded(tmp_path, call, machine.io_pages * machine.page_size)
            predicted, measured = bench.saved(frozenset([offer])), now - seconds(with_call, capsys)
            found[call] = (predicted, measured)
    print(f"of {now:.4f} s, predicted and measured:", found)  # readouterr drops what came before
    assert set(found) == {"WILLNEED", "POPULATE"}
    assert all(abs(one - two) <= CLOSE * now for one, two in found.values())
    assert found["WILLNEED"][1] > CLOSE * now
