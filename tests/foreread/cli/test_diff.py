"""``foreread diff``: text, JSON, Markdown, JUnit, exit codes, hostile names, and bad input."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

import foreread
from foreread.analyzer.diff.document import DiffCause, DiffFile
from foreread.cli.commands import diff as command
from foreread.cli.main import main
from foreread.cli.text.diff import cause_text
from foreread.cli.text.diff_junit import junit_xml
from foreread.cli.text.diff_markdown import markdown_text

DATA = Path(__file__).parents[1] / "data/suite"
OLD = str(DATA / "arm64-5.10-madplay-1.capture.tar.xz")
NEW = str(DATA / "arm64-madplay-1.capture.tar.xz")
SLOW = 'kind = "fixed"\nlatency_us = 1000\nns_per_kib = 50000\n'
HOSTILE = "</system-out>]]>|`<script>\x1b[31m\n# [x](http://e) @me \udc80 &amp; \u202e"


def run(capsys, *words, code=0):
    assert main(["diff", *words]) == code
    return capsys.readouterr()


def test_the_text_has_both_sides_and_the_reasons(compared, monkeypatch, capsys):
    monkeypatch.setattr(command, "diff", lambda *_, **__: compared)
    lines = run(capsys, OLD, NEW).out.splitlines()
    assert lines[0].startswith("madplay -Q -o null: -t 1 /sample.mp3: 0.19")
    assert lines[1].startswith(f"  OLD {OLD}: Linux 5.10")
    assert lines[3] == "because of:"
    assert any("kernel: the readahead of Linux 5.10 to that of Linux 6.12" in x for x in lines)


def test_a_difference_that_rounds_to_zero_is_not_negative():
    cause = DiffCause(kind="files", what="x", seconds=-0.0001, requests=0, pages=0)
    assert cause_text(cause) == "+0.000 s, requests +0, pages +0: x"


@pytest.fixture(scope="module")
def compared():
    """The difference of the two captures, as the library returns it."""
    return foreread.diff(OLD, NEW)


def test_json_is_the_library_s_result(compared, capsys):
    document = json.loads(run(capsys, OLD, NEW, "--json").out)
    assert document == json.loads(compared.to_json())
    assert document["regressed"] is None


def test_a_regression_beyond_the_limit_exits_with_1_and_fails_its_test_case(tmp_path, capsys):
    """The boards of the two suites are of one name, and NEW's disk is slower."""
    suites = {}
    (tmp_path / "slow.toml").write_text(SLOW.replace("1000", "1500"))
    for name, model in (("old", "arm64"), ("new", "slow.toml")):
        starts = [
            f'[[start]]\nname = "{start}"\ncaptures = ["{DATA}/arm64-{start}-1.capture.tar.xz"]\n'
            for start in ("perl", "madplay")
        ]
        board = f'schema = 1\n[[board]]\nname = "arm64"\ndevice_model = "{model}"\n'
        suites[name] = tmp_path / f"{name}.toml"
        suites[name].write_text(board + "".join(starts))
    junit, markdown = tmp_path / "diff.xml", tmp_path / "diff.md"
    files = ("--junit", str(junit), "--markdown", str(markdown))
    words = (str(suites["old"]), str(suites["new"]), "--max-regression", "3%", *files)
    said = run(capsys, *words, code=1).out
    assert "regressed: " in said
    cases = {case.get("name"): case for case in ElementTree.parse(junit).iter("testcase")}
    assert set(cases) == {"perl on arm64", "madplay on arm64", "all starts"}
    assert all(case.find("failure") is not None for case in cases.values())
    assert markdown.read_text().startswith("## foreread: regressed&#58;")


@pytest.mark.thorough
def test_no_regression_beyond_the_limit_exits_with_0(capsys):
    run(capsys, OLD, NEW, "--max-regression", "100")
    run(capsys, NEW, NEW, "--max-regression", "0")


@pytest.mark.thorough
def test_starts_that_one_suite_lacks_are_named(tmp_path, capsys):
    shutil.copytree(DATA, tmp_path / "old")
    old = tmp_path / "old/one-board.toml"
    old.write_text(old.read_text().replace('name = "perl"', 'name = "ruby"'))
    said = run(capsys, str(old), str(DATA / "one-board.toml")).out
    assert "only in OLD: ruby on arm64" in said
    assert "only in NEW: perl on arm64" in said


@pytest.fixture
def hostile(compared):
    """A difference whose names try to be terminal codes, Markdown and XML."""
    (start,) = compared.starts
    replace = msgspec.structs.replace
    file = {
        "path": HOSTILE,
        "was": HOSTILE,
        "reasons": ["new"],
        "why": HOSTILE,
        **dict.fromkeys(("size_old", "size_new", "accessed_old", "accessed_new"), 1),
        **dict.fromkeys(("pages_old", "pages_new", "requests_old", "requests_new"), 1),
        "seconds": 1.0,
    }
    files = [msgspec.convert(file, DiffFile)]
    changed = replace(start, name=HOSTILE, files=files, doubts=[HOSTILE], regressed=True)
    return replace(compared, starts=[changed], only_old=[HOSTILE], notes=[HOSTILE], regressed=True)


def test_hostile_names_stay_text_in_xml(hostile):
    text = junit_xml(hostile)
    assert b"\x1b" not in text
    assert b"<script>" not in text
    root = ElementTree.fromstring(text)
    (case,) = root.iter("testcase")
    assert "<script>" in case.get("name")
    assert "\\x1b[31m" in case.find("system-out").text
    assert len(list(root.iter("system-out"))) == 1


def test_hostile_names_stay_text_in_markdown(hostile):
    text = markdown_text(hostile).decode()
    assert not any(code in text for code in ("\x1b", "<script>", "](http", "\u202e", "@me"))
    rows = [line for line in text.splitlines() if line.startswith("| +1.000")]
    assert len(rows) == 1
    assert rows[0].count("|") == 6
    assert sum(line.startswith("#") for line in text.splitlines()) == 2


def test_hostile_names_stay_text_on_the_terminal(hostile, capsys, monkeypatch):
    monkeypatch.setattr(command, "diff", lambda *args, **more: hostile)
    said = run(capsys, OLD, NEW, code=1).out
    assert "\x1b" not in said
    assert not any(line.startswith("# [x]") for line in said.splitlines())


def test_captures_and_suites_are_not_compared(capsys):
    said = run(capsys, NEW, str(DATA / "suite.toml"), code=1).err
    assert "is a capture and" in said
    assert "two captures, two suites or two reports" in said


def test_suites_without_a_common_start_are_an_error(tmp_path, capsys):
    other = tmp_path / "other.toml"
    other.write_text(f'schema = 1\n[[start]]\nname = "x"\ncaptures = ["{NEW}"]\n')
    said = run(capsys, str(other), str(DATA / "suite.toml"), code=1).err
    assert "no start on a board of the same name" in said


def test_a_limit_without_seconds_is_an_error(capsys):
    blind = str(DATA.parent / "no-scheduler/no-scheduler.capture.tar.xz")
    said = run(capsys, blind, blind, "--max-regression", "3%", code=1)
    assert "a limit needs predicted seconds" in said.err
    assert said.out == ""
    assert "requests" in run(capsys, blind, blind).out


@pytest.mark.parametrize("limit", ["-1", "nan", "101", "much"])
def test_a_limit_that_is_no_percentage_is_wrong_usage(limit, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["diff", OLD, NEW, f"--max-regression={limit}"])
    assert ended.value.code == 2


@pytest.mark.thorough
def test_two_reports_are_compared_by_their_totals(compared, tmp_path, capsys):
    for name, capture in (("old", OLD), ("new", NEW)):
        (tmp_path / name).mkdir()
        prediction = json.loads(foreread.predict(foreread.load(capture)).to_json())
        figures = {"schema": 1, "prediction": prediction, "tuning": None}
        (tmp_path / name / "report.json").write_text(json.dumps(figures))
    document = json.loads(run(capsys, str(tmp_path / "old"), str(tmp_path / "new"), "--json").out)
    (start,) = document["starts"]
    captures = compared.starts[0]
    assert start["files"] == []
    assert start["new"]["requests"] == captures.new.requests
    assert start["share"] == pytest.approx(captures.share, abs=1e-6)
    (tmp_path / "new/report.json").write_text('{"schema": 1, "tuning": null}')
    said = run(capsys, str(tmp_path / "old"), str(tmp_path / "new"), code=1).err
    assert "a report without a capture" in said
