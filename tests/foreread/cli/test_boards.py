"""``foreread boards``: list, show, new."""

import json

import pytest

from boards.profile import builtin_names, decode_profile
from foreread.cli.main import main


@pytest.fixture(autouse=True)
def _nothing_started(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_list_names_every_board(capsys):
    assert main(["boards", "list"]) == 0
    text = capsys.readouterr().out
    assert [line.split()[0] for line in text.splitlines()[1:]] == builtin_names()


@pytest.mark.parametrize("words", [["--json", "list"], ["list", "--json"]])
def test_list_as_json(capsys, words):
    assert main(["boards", *words]) == 0
    boards = json.loads(capsys.readouterr().out)["boards"]
    assert [board["name"] for board in boards] == builtin_names()


@pytest.mark.parametrize("name", builtin_names())
def test_show(name, capsys):
    assert main(["boards", "show", name]) == 0
    assert capsys.readouterr().out.startswith(f"{name}: ")
    assert main(["boards", "show", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == name


def test_show_prints_nothing_that_steers_a_terminal(tmp_path, capsys):
    text = 'schema = 1\nname = "a"\ntitle = "\\u001b[2Jboo\\nfake: line"\nmeasured_here = true\n'
    (tmp_path / "a.toml").write_text(text)
    assert main(["boards", "show", str(tmp_path / "a.toml")]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\nfake" not in out


def test_a_bad_profile_is_one_line_with_a_remedy(tmp_path, capsys):
    (tmp_path / "a.toml").write_text("wings = 2\n")
    assert main(["boards", "show", str(tmp_path / "a.toml")]) == 1
    done = capsys.readouterr()
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert "wings" in done.err
    assert " -- " in done.err


def test_new_makes_a_profile_that_show_takes(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    assert main(["boards", "new", "-o", str(path)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["boards", "show", str(path)]) == 0


def test_new_prints_toml_or_json(capsys):
    assert main(["boards", "new"]) == 0
    profile = decode_profile(capsys.readouterr().out.encode(), "F")
    assert main(["boards", "new", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == profile.name


def test_no_action_is_wrong_usage():
    with pytest.raises(SystemExit) as stop:
        main(["boards"])
    assert stop.value.code == 2
