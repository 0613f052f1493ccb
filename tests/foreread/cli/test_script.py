"""``foreread script``: what it writes, installs, removes, and says."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pytest
from chroot_board import ChrootBoard
from requirements import busybox_chroot_missing

from boards.emulated.live import EmulatedTarget
from foreread.cli.commands import script
from foreread.cli.main import main

CAPTURE = str(Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz")
PUBLISHED = [CAPTURE, "--criterion", "published"]  # its disk is unknown, so it has no seconds


@pytest.fixture
def board(tmp_path, monkeypatch):
    if reason := busybox_chroot_missing():
        pytest.skip(reason)
    board = ChrootBoard(tmp_path / "board")
    monkeypatch.setattr(script, "open_target", lambda text, identity, tell: nullcontext(board))
    return board


@pytest.mark.parametrize(
    "words",
    [
        [],
        [CAPTURE],
        ["-o", "out"],
        [CAPTURE, "-o", "out", "--target", "ssh://board"],
        [CAPTURE, "-o", "out", "--init", "sysv"],
        [CAPTURE, "-o", "out", "--after-seconds", "3", "--attempts", "0"],
        [CAPTURE, "-o", "out", "--state-dir", "/data", "--attempts", "0"],
        ["--uninstall", "--attempts", "1"],
        ["--uninstall", "--init", "sysv"],
        ["--uninstall", "--read-ahead-kb", "4"],
        ["--uninstall", CAPTURE],
    ],
)
def test_wrong_usage(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["script", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_install_and_uninstall_say_what_they_did(board, tmp_path, capsys):
    out = str(tmp_path / "out")
    install = ["script", *PUBLISHED, "-o", out, "--install", "--target", "ssh://a b"]
    assert main(install) == 1
    said = capsys.readouterr().err
    assert "cannot set every value on this board" in said
    assert "--force" in said
    assert main([*install, "--force"]) == 0
    said = capsys.readouterr().out
    assert "installed for busybox; active from the next boot" in said
    assert "/etc/init.d/S05foreread -> /usr/sbin/foreread-apply" in said
    assert "undo: foreread script --uninstall --target 'ssh://a b'" in said
    assert main(["script", "--uninstall"]) == 0
    assert "removed: /usr/sbin/foreread-apply\n" in capsys.readouterr().out
    assert main(["script", "--uninstall"]) == 1
    assert "nothing is installed" in capsys.readouterr().err


@pytest.mark.thorough
def test_a_board_that_ends_with_the_command_is_refused(tmp_path, monkeypatch, capsys):
    brief = EmulatedTarget.__new__(EmulatedTarget)  # which boots none
    monkeypatch.setattr(script, "open_target", lambda text, identity, tell: nullcontext(brief))
    out = str(tmp_path / "out")
    assert main(["script", *PUBLISHED, "-o", out, "--install", "--target", "arm64"]) == 1
    assert "foreread boards start arm64" in capsys.readouterr().err


def test_json_of_both(board, tmp_path, capsys):
    install = ["script", *PUBLISHED, "-o", str(tmp_path / "out"), "--install", "--force", "--json"]
    assert main(install) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    assert document["installed"]["init"] == "busybox"
    assert document["installed"]["fits"] is False
    assert "/usr/sbin/foreread-apply" in document["installed"]["paths"]
    assert main(["script", "--uninstall", "--json"]) == 0
    assert "/usr/sbin/foreread-apply" in json.loads(capsys.readouterr().out)["removed"]
