"""``foreread boards``: list, show, new."""

import json

import pytest

from foreread.boards.profile import builtin_names, decode_profile
from foreread.cli.main import main


@pytest.fixture(autouse=True)
def _nothing_started(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_list_names_every_board(run):
    text = run("boards", "list").out
    assert [line.split()[0] for line in text.splitlines()[1:]] == builtin_names()


@pytest.mark.parametrize("words", [["--json", "list"], ["list", "--json"]])
def test_list_as_json(run, words):
    boards = json.loads(run("boards", *words).out)["boards"]
    assert [board["name"] for board in boards] == builtin_names()


@pytest.mark.parametrize("name", builtin_names())
def test_show(name, run, run_json):
    assert run("boards", "show", name).out.startswith(f"{name}: ")
    assert run_json("boards", "show", name)["name"] == name


def test_show_prints_nothing_that_steers_a_terminal(tmp_path, run):
    text = 'schema = 1\nname = "a"\ntitle = "\\u001b[2Jboo\\nfake: line"\nmeasured_here = true\n'
    (tmp_path / "a.toml").write_text(text)
    out = run("boards", "show", tmp_path / "a.toml").out
    assert "\x1b" not in out
    assert "\nfake" not in out


def test_a_bad_profile_is_one_line_with_a_remedy(tmp_path, run):
    (tmp_path / "a.toml").write_text("wings = 2\n")
    done = run("boards", "show", tmp_path / "a.toml", code=1)
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert "wings" in done.err
    assert " -- " in done.err


def test_new_makes_a_profile_that_show_takes(tmp_path, run):
    path = tmp_path / "mine.toml"
    assert run("boards", "new", "-o", path).out == ""
    assert main(["boards", "show", str(path)]) == 0


def test_new_prints_toml_or_json(run, run_json):
    profile = decode_profile(run("boards", "new").out.encode(), "F")
    assert run_json("boards", "new")["name"] == profile.name


def test_no_action_is_wrong_usage():
    with pytest.raises(SystemExit) as stop:
        main(["boards"])
    assert stop.value.code == 2
