"""``boards run``: its arguments, its output, and how it fails; no board is booted here."""

import argparse
import base64
import json

import pytest

from foreread.boards.emulated import BoardError, BoardRun, TimedRun
from foreread.cli.arguments import UsageError
from foreread.cli.commands import boards_run


def parse(*words):
    parser = argparse.ArgumentParser(prog="run")
    parser.set_defaults(json=False)
    boards_run.add_arguments(parser)
    return parser.parse_args(words)


@pytest.fixture
def board(monkeypatch):
    """Stand in for the board: return the plans it got; its result may be replaced."""

    class Stand:
        result = BoardRun([TimedRun(128, 0, 1_500_000_000, 64, 3676)], b"played\n", b"warned\n")
        plans, kernel = (), "6.1"

        def __init__(self, *made_of, **more):
            Stand.made_of = made_of

        def run(self, plan):
            Stand.plans += (plan,)
            return Stand.result

    monkeypatch.setattr(boards_run, "Board", Stand)
    return Stand


def test_arguments_become_the_plan(board):
    words = ["armhf", "--latency-us", "500", "--ns-per-kib", "9", "--fs", "squashfs"]
    more = ["--windows", "0,32k", "--repeat", "2", "--memory-mib", "64", "--package", "p"]
    boards_run.run(parse(*words, *more, "--", "madplay", "-Q"))
    assert board.made_of == ("armhf", "", ["p"])
    plan = board.plans[0]
    assert (plan.command, plan.windows_kb, plan.repeat) == (("madplay", "-Q"), (0, 32), 2)
    assert (plan.latency_ns, plan.ns_per_kib) == (500_000, 9)
    assert (plan.fs, plan.memory_mib) == ("squashfs", 64)


def test_windows_are_whole_pages_of_the_board(board):
    boards_run.run(parse("arm64-16k", "--windows", "16,64", "--", "x"))
    boards_run.run(parse("arm64-16k", "--", "x"))
    assert [plan.windows_kb for plan in board.plans] == [(16, 64), (128,)]
    with pytest.raises(UsageError, match="8 KiB is not a multiple of the page size, 16"):
        boards_run.run(parse("arm64-16k", "--windows", "8", "--", "x"))


def test_output_is_passed_on_before_the_table(board, capsysbinary):
    assert boards_run.run(parse("arm64", "--", "x")) == 0
    out, err = capsysbinary.readouterr()
    assert out.startswith(b"played\n")
    assert out.splitlines()[-1].split() == [b"128", b"1.5000", b"64", b"3676", b"0"]
    assert err == b"warned\n"


def test_json_is_alone_on_stdout(board, capsys):
    boards_run.run(parse("arm64", "--json", "--", "x"))
    document = json.loads(capsys.readouterr().out)
    assert document["runs"][0]["guest_ns"] == 1_500_000_000
    assert base64.b64decode(document["stdout_base64"]) == b"played\n"


def test_a_failed_command_is_a_failure(board, capsysbinary):
    board.result = BoardRun([TimedRun(128, 3, 1, 1, 1)], b"", b"no such song\n")
    with pytest.raises(BoardError, match="exited with status 3"):
        boards_run.run(parse("arm64", "--", "x"))
    assert capsysbinary.readouterr().err == b"no such song\n"


@pytest.mark.parametrize(
    "words",
    [
        ["--latency-us", "-1"],
        ["--latency-us", "99999999999"],
        ["--memory-mib", "0"],
        ["--repeat", "many"],
        ["--fs", "ntfs"],
    ],
)
def test_numbers_out_of_range_are_wrong_usage(words, capsys):
    with pytest.raises(SystemExit) as stop:
        parse("arm64", *words, "--", "x")
    assert stop.value.code == 2


def test_unknown_board_lists_the_known_ones():
    with pytest.raises(BoardError) as caught:
        boards_run.run(parse("sparc", "--", "x"))
    assert "mipsel" in caught.value.remedy
