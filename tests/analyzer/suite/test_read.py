"""Suites that are read, and the errors of those that are refused, with their line."""

from pathlib import Path

import pytest

from foreread.analyzer.suite import is_suite
from foreread.analyzer.suite.read import SuiteError, decode_suite, line_of, read_suite

DATA = Path(__file__).parent / "data"
REFUSED = sorted(path.stem for path in DATA.glob("*.error"))
HERE = Path("SUITE")
EXAMPLES = Path(__file__).parents[3] / "examples"


def test_there_are_suites_of_both_kinds():
    assert len(REFUSED) > 15
    assert len(list(DATA.glob("*.toml"))) > len(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
def test_a_suite_that_is_refused_names_line_and_remedy(name):
    with pytest.raises(SuiteError) as caught:
        decode_suite((DATA / f"{name}.toml").read_bytes(), HERE)
    assert str(caught.value) == (DATA / f"{name}.error").read_text().rstrip("\n")
    assert "docs/reference/files.md" in caught.value.remedy


def test_the_shipped_example_is_a_suite():
    suite = decode_suite((EXAMPLES / "suite.toml").read_bytes(), EXAMPLES)
    assert [case.start.name for case in suite.boards[0].cases] == ["browser"]


def test_starts_of_two_boards_have_captures_of_each():
    suite = read_suite(DATA / "two-boards.toml")
    first, second = suite.boards
    assert [case.start.name for case in first.cases] == ["browser", "player"]
    assert [case.start.weight for case in first.cases] == [3, 1]
    assert first.cases[0].captures == (DATA / "captures/a/browser-1",)
    assert first.cases[1].captures == (DATA / "x", DATA / "y")
    assert [case.start.name for case in second.cases] == ["browser"]
    assert (first.board.target, second.board.target) == ("ssh://root@a", "local")


def test_without_boards_the_suite_is_of_this_machine():
    (board,) = read_suite(DATA / "one-board.toml").boards
    assert (board.board.name, board.board.target) == ("local", "local")
    assert [path.name for path in board.cases[0].captures] == ["shell-1", "shell-2", "shell-3"]


def test_captures_that_are_missing_are_all_named_with_the_command_that_records_them():
    suite = read_suite(DATA / "one-board.toml")
    with pytest.raises(
        SuiteError, match=r"not recorded: .*shell-1, .*shell-2, .*shell-3$"
    ) as caught:
        suite.check_captures()
    assert caught.value.remedy.endswith(f"foreread record --suite {DATA}/one-board.toml")


def test_a_device_model_beside_the_suite_is_a_file_and_otherwise_a_profile():
    text = b'schema = 1\nboard = [{name = "a", device_model = "one-board.toml"}, '
    text += b'{name = "b", device_model = "arm64"}]\nstart = [{name = "s"}]\n'
    a, b = decode_suite(text, DATA / "inline.toml").boards
    assert (a.device_model, b.device_model) == (str(DATA / "one-board.toml"), "arm64")


def test_an_unreadable_suite_is_an_error(tmp_path):
    with pytest.raises(SuiteError, match="No such file"):
        read_suite(tmp_path / "none.toml")
    (tmp_path / "large.toml").write_bytes(b"#" * (1 << 20))
    with pytest.raises(SuiteError, match="larger"):
        read_suite(tmp_path / "large.toml")


def test_a_folder_is_no_suite_whatever_its_name(tmp_path):
    (tmp_path / "app.toml").mkdir()
    assert not is_suite(tmp_path / "app.toml")
    assert is_suite(tmp_path / "other.toml")
    assert not is_suite(tmp_path / "app.capture")


def test_the_line_of_an_inline_table_is_unknown():
    assert line_of('start = [{name = "a", weight = 0}]', "start", 0, "weight") is None
    assert line_of("schema = 1\nname = 3\n", None, 0, "name") == 2
