"""The command line's contract: exit codes, one-line errors, JSON alone on stdout."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from parsed_options import parsers
from rings import further

from foreread.cli.arguments.target import target_words
from foreread.cli.main import COMMANDS, REPLACED, build_parser

ROOT = Path(__file__).parents[3]
TRACE = ROOT / "tests/analyzer/ingest/data/ftrace/trace.txt"
CAPTURE = ROOT / "examples/python-start/python-start.capture.tar.xz"


def process(*words, **more):
    """Run foreread in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "foreread", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        **more,
    )


def test_the_help_lists_every_command_on_a_line_of_its_own(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("--help").out.splitlines()
    assert len(lines) <= 40
    for command, summary in COMMANDS.items():
        assert f"  {command:11}  {summary}" in lines


@pytest.mark.parametrize(("old", "now"), REPLACED.items())
def test_a_name_that_is_gone_is_answered_with_the_present_one(old, now, run):
    said = run(*old.split(), "capture", code=2)
    assert said.out == ""
    assert said.err.endswith(f"foreread {old} is gone; type: foreread {now}\n")
    assert now.split()[0] in COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, run):
    assert "--json" in run(command, "--help").out


@pytest.mark.parametrize(
    "words",
    [[], ["fly"], ["predict"], ["predict", "x", "--wings"], ["predict", TRACE, "--windows", ""]],
    ids=str,
)
def test_unknown_words_are_wrong_usage(words, run):
    assert run(*words, code=2).out == ""


@pytest.mark.parametrize("command", ["predict", "show"])
def test_a_missing_file_is_one_line_with_a_remedy(command, tmp_path, run):
    said = run(command, tmp_path / "no\nsuch", "--json", code=1)
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert " -- " in said.err


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 5000, b"PERFILE2", b"hello\n", b"\x17\x08\x44trac"]
)
def test_files_that_are_not_traces(tmp_path, run, content):
    path = tmp_path / "trace"
    path.write_bytes(content)
    assert run("predict", path, code=1).err.count("\n") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_completion_is_printed(shell, run):
    assert "foreread" in run("--print-completion", shell).out


def test_choices_of_options_are_sequences_which_every_shtab_takes():
    options = [action for _, parser in parsers(build_parser()) for action in parser._actions]
    choices = [a.choices for a in options if a.option_strings and a.choices is not None]
    assert len(choices) > 10
    assert [c for c in choices if not isinstance(c, (tuple, list))] == []


def imported_by(*words):
    """Return the modules that a command imports."""
    code = (
        "import sys; from contextlib import suppress; from foreread.cli.main import main\n"
        "with suppress(SystemExit): main(sys.argv[1:])\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        check=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stdout
    return set(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "others"),
    [
        (
            ["--help"],
            ["numpy", "msgspec", "foreread.analyzer", "foreread.emulator"],
        ),
        (
            ["predict", "--help"],
            ["numpy", "msgspec", "foreread.analyzer.ingest", "foreread.emulator"],
        ),
        (
            ["predict", CAPTURE],
            [
                "concurrent.futures",
                "html",
                "matplotlib",
                "jinja2",
                "foreread.boards.console",
                "foreread.boards.emulated",
                "foreread.boards.labgrid",
                "foreread.boards.open",
                "foreread.boards.ssh",
                "foreread.tracer.local",
                "foreread.analyzer.advise",
                "foreread.analyzer.confirm",
                "foreread.analyzer.ingest.blktrace",
                "foreread.analyzer.ingest.perfdata",
                "foreread.analyzer.ingest.perfetto",
                "foreread.analyzer.ingest.text",
                "foreread.analyzer.ingest.tracedat",
                "foreread.analyzer.program.blocks",
                "foreread.analyzer.program.opening",
                "foreread.analyzer.suite.read",
                "uniplot",
                "foreread.emulator.reference",
                "foreread.emulator.stepwise.replay",
            ],
        ),
    ],
)
def test_a_command_imports_what_it_needs(words, others):
    imported = imported_by(*words)
    assert "foreread.cli.main" in imported
    assert imported & set(others) == set()


def test_help_imports_of_boards_only_signals_and_how_text_is_escaped():
    modules = ("foreread.boards", "foreread.boards.base")
    packages = {*modules, *(f"foreread.boards.base.{name}" for name in ("interrupts", "printable"))}
    assert {
        name for name in imported_by("--help") if name.startswith("foreread.boards")
    } == packages


@pytest.mark.parametrize(
    "option", ["--read-ahead-kb=-4", "--read-ahead-kb=99999999999", "--buffer-kib=0"]
)
def test_sizes_that_no_kernel_takes_are_wrong_usage(option, tmp_path, run):
    run("record", option, "-o", tmp_path / "capture", "--", "true", code=2)
    assert not (tmp_path / "capture").exists()


@pytest.mark.thorough
def test_signs_that_an_old_locale_lacks_are_escaped():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = process("predict", "--criterion", "published", CAPTURE, env=environment)
    assert done.returncode == 0, done.stderr
    assert "\\xb2" in done.stdout  # F\u00b2 + G\u00b2


@pytest.mark.parametrize("redirection", further([">&-", "| true"]))
@pytest.mark.parametrize(
    "words",
    [
        pytest.param("doctor", marks=pytest.mark.thorough),
        pytest.param("predict no-such-file", marks=pytest.mark.thorough),
        "--print-completion bash",
    ],
)
def test_a_stdout_that_is_closed_brings_no_traceback(words, redirection):
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m foreread {words} {redirection}"],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--read-ahead-kb=-4"],
        ["--read-ahead-kb=7"],
        ["--read-ahead-kb=99999999999"],
        ["--after-boot-kb=6"],
        ["--after-seconds=5", "--attempts=0"],
        ["--attempts=-1"],
        ["--attempts=two"],
    ],
)
def test_values_that_the_boot_script_could_not_set_are_wrong_usage(options, tmp_path, run):
    run("script", TRACE, *options, "-o", tmp_path / "boot", code=2)
    assert not (tmp_path / "boot").exists()


@pytest.mark.thorough
def test_an_unwritable_cache_prints_nothing_on_stderr(tmp_path):
    (tmp_path / "file").touch()
    environment = {**os.environ, "MPLCONFIGDIR": str(tmp_path / "file/none")}
    done = process("report", TRACE, "-o", tmp_path / "report", env=environment)
    assert done.returncode == 0
    said = done.stderr.splitlines()
    assert all(line.startswith("foreread: ") for line in said)
    assert "foreread: drawing figures" in said  # and not a word of matplotlib's


def test_a_sweep_of_another_command_is_said(tmp_path, run):
    example = ROOT / "examples/python-start"
    sweep = json.loads((example / "python-start.sweep.json").read_text())
    capture = example / "python-start.capture.tar.xz"
    (tmp_path / "sweep").write_text(json.dumps(sweep | {"command": ["other"], "kernel": "3.10"}))
    own = run("predict", capture, "--measured", example / "python-start.sweep.json").out
    assert "differs from the recorded" not in own
    received = run("predict", capture, "--measured", tmp_path / "sweep").out
    assert "differs from the recorded" in received and "that of the sweep 3.10" in received


def test_probes_are_for_targets(tmp_path, run):
    said = run("record", "--probes", "-o", tmp_path / "capture", "--", "true", code=2).err
    assert "--probes works on targets only" in said


def test_recorded_options_name_the_target_and_its_key(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parser = build_parser(["record"])
    words = ["record", "--target", "ssh://root@board", "--identity", "key", "-o", "c", "--", "x"]
    given = target_words(parser.parse_args(words))
    assert given == ["--target", "ssh://root@board", "--identity", str(tmp_path / "key")]
    assert not target_words(parser.parse_args(["record", "-o", "c", "--", "x"]))
