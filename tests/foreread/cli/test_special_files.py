"""Every path that a command takes, given every kind of file that is not plain data.

The tables are complete: test_every_option_that_takes_text_is_in_the_tables walks the parsers.
"""

import argparse
import shutil
from pathlib import Path

import pytest
from fleet_rows import analysed, store_of
from special_files import NAMES, Outcome, outcomes, special_files
from tuned_stores import tuned

from analyzer.tuner.engines.fingerprint import BY_NAME
from analyzer.tuner.findings.plans import learn
from foreread.cli.main import build_parser

EXAMPLES = Path(__file__).parents[3] / "examples/python-start"
CAPTURE = "capture.tar.xz"  # a copy, since confirm writes to it
SWEEP = str(EXAMPLES / "python-start.sweep.json")
SSH = ["--target", "ssh://root@127.0.0.1:1"]
BOTH = ("--target", "ssh://root@127.0.0.1:1", "--target", "ssh://root@127.0.0.1:2")
# The path stands for {}; a key is a command and its option or argument.
INPUTS = {
    "show capture": ["show", "{}"],
    "predict capture": ["predict", "{}"],
    "predict --device-model": ["predict", CAPTURE, "--device-model", "{}"],
    "predict --image": ["predict", CAPTURE, "--image", "{}"],
    "predict --unpacking": ["predict", CAPTURE, "--image", "image", "--unpacking", "{}"],
    "validate --image": ["validate", CAPTURE, SWEEP, "--image", "{}"],
    "script --image": ["script", CAPTURE, "-o", "out", "--image", "{}"],
    "confirm --image": ["confirm", CAPTURE, "--image", "{}"],
    "advise capture": ["advise", "{}"],
    "advise --device-model": ["advise", CAPTURE, "--device-model", "{}"],
    "advise --board": ["advise", CAPTURE, "--board", "{}"],
    "layout capture": ["layout", "{}", "-o", "out"],
    "layout --image": ["layout", CAPTURE, "--image", "{}", "-o", "out"],
    "layout --device-model": ["layout", CAPTURE, "--device-model", "{}", "-o", "out"],
    "layout --kernel-config": ["layout", CAPTURE, "--kernel-config", "{}", "-o", "out"],
    "layout --unpacking": ["layout", CAPTURE, "--unpacking", "{}", "-o", "out"],
    "advise --image": ["advise", CAPTURE, "--image", "{}"],
    "fleet analyse --device-model": [
        *("fleet", "analyse", CAPTURE, "-o", "out", "--device-model", "{}"),
    ],
    "fleet tune --resume": ["fleet", "tune", *BOTH, "-o", "{}", "--resume", "--", "true"],
    "fleet tune --recipe": ["fleet", "tune", *BOTH, "-o", "out", "--recipe", "{}", "--", "true"],
    "fleet tune --from": ["fleet", "tune", *BOTH, "-o", "out", "--from", "{}", "--", "true"],
    "fleet tune --capture": ["fleet", "tune", *BOTH, "-o", "out", "--capture", "{}", "--", "true"],
    "fleet tune --device-model": [
        *("fleet", "tune", *BOTH, "-o", "out", "--capture", CAPTURE),
        *("--device-model", "{}", "--", "true"),
    ],
    "fleet confirm capture": ["fleet", "confirm", *BOTH, "{}"],
    "fleet report store": ["fleet", "report", "{}", "-o", "out"],
    "diff old": ["diff", "{}", CAPTURE],
    "diff new": ["diff", CAPTURE, "{}"],
    "diff --device-model": ["diff", CAPTURE, CAPTURE, "--device-model", "{}"],
    "record --suite": ["record", "--suite", "{}"],
    "confirm --suite": ["confirm", "--suite", "{}"],
    "forecast capture": ["forecast", "{}", "--model", "linux-6.12"],
    "forecast --device-model": [
        *("forecast", CAPTURE, "--model", "linux-6.12", "--device-model", "{}"),
    ],
    "validate capture": ["validate", "{}", SWEEP],
    "validate sweep": ["validate", CAPTURE, "{}"],
    "validate --device-model": ["validate", CAPTURE, SWEEP, "--device-model", "{}"],
    "report capture": ["report", "{}", "-o", "out"],
    "report measured": ["report", CAPTURE, "{}", "-o", "out"],
    "report --prefetch": ["report", CAPTURE, "--prefetch", "{}", "-o", "out"],
    "report --device-model": ["report", CAPTURE, "--device-model", "{}", "-o", "out"],
    "view capture": ["view", "{}"],
    "view measured": ["view", CAPTURE, "{}"],
    "view --prefetch": ["view", CAPTURE, "--prefetch", "{}"],
    "view --device-model": ["view", CAPTURE, "--device-model", "{}"],
    "export capture": ["export", "{}", "--format", "csv", "-o", "out"],
    "export --device-model": [
        *("export", CAPTURE, "--format", "csv", "-o", "out", "--window", "4"),
        *("--device-model", "{}"),
    ],
    "prefetch capture": ["prefetch", "{}", "-o", "out"],
    "prefetch --check": ["prefetch", CAPTURE, "--check", "{}", "--root", "."],
    "prefetch --device-model": ["prefetch", CAPTURE, "--device-model", "{}", "-o", "out"],
    "script capture": ["script", "{}", "-o", "out"],
    "script --device-model": ["script", CAPTURE, "--device-model", "{}", "-o", "out"],
    "script --prefetch": ["script", CAPTURE, "--prefetch", "{}", "-o", "out"],
    "script --replayer": ["script", CAPTURE, "--prefetch", "list", "--replayer", "{}", "-o", "out"],
    "confirm capture": ["confirm", "{}"],
    "confirm --advice": ["confirm", CAPTURE, "--advice", "{}"],
    "confirm --replayer": ["confirm", CAPTURE, "--advice", "none", "--replayer", "{}"],
    "confirm --device-model": ["confirm", CAPTURE, "--device-model", "{}"],
    "sweep command_line": ["sweep", "-o", "out", "{}"],
    "sweep --device-model": ["sweep", "-o", "out", "--device-model", "{}", CAPTURE],
    "tune --resume": ["tune", "-o", "{}", "--resume", "--", "true"],
    "tune --recipe": ["tune", "-o", "out", "--recipe", "{}", "--", "true"],
    "tune --from": ["tune", "-o", "out", "--from", "{}", "--", "true"],
    "tune --capture": ["tune", "-o", "out", "--capture", "{}", "--", "true"],
    "tune --device-model": [
        *("tune", "-o", "out", "--capture", CAPTURE, "--device-model", "{}", "--", "true"),
    ],
    "calibrate device": ["calibrate", "{}"],
    "calibrate --profile": ["calibrate", ".", "--profile", "{}"],
    "fingerprint --learn": ["fingerprint", "--interval", "1", "--learn", "{}"],
    "fingerprint --apply": ["fingerprint", "-o", "out", "--apply", "{}"],
    "boards show board": ["boards", "show", "{}"],
    "doctor --identity": ["doctor", *SSH, "--identity", "{}"],
    "record --identity": ["record", "-o", "out", *SSH, "--identity", "{}", "--", "true"],
    "confirm --identity": ["confirm", CAPTURE, *SSH, "--identity", "{}"],
    "sweep --identity": ["sweep", "-o", "out", *SSH, "--identity", "{}", "--", "true"],
    "tune --identity": ["tune", "-o", "out", *SSH, "--identity", "{}", "--", "true"],
    "calibrate --identity": ["calibrate", ".", *SSH, "--identity", "{}"],
    "script --identity": ["script", "--uninstall", *SSH, "--identity", "{}"],
    "doctor --profile": ["doctor", "--judge", *SSH, "--profile", "{}"],
    "fingerprint --identity": ["fingerprint", *SSH, "--identity", "{}"],
    "top --identity": ["top", "--once", *SSH, "--identity", "{}"],
    "boards new --identity": ["boards", "new", *SSH, "--identity", "{}"],
}
OUTPUTS = {
    "export --output": ["export", CAPTURE, "--format", "csv", "-o", "{}"],
    "record --output": ["record", "-o", "{}", "--", "true"],
    "report --output": ["report", CAPTURE, "-o", "{}"],
    "prefetch --output": ["prefetch", CAPTURE, "-o", "{}"],
    "advise --output": ["advise", CAPTURE, "-o", "{}"],
    "fleet analyse --output": ["fleet", "analyse", CAPTURE, "-o", "{}"],
    "fleet report --output": ["fleet", "report", "fleet-store", "-o", "{}"],
    "diff --markdown": ["diff", CAPTURE, CAPTURE, "--markdown", "{}"],
    "diff --junit": ["diff", CAPTURE, CAPTURE, "--junit", "{}"],
    "layout --output": ["layout", CAPTURE, "-o", "{}"],
    "script --output": ["script", CAPTURE, "-o", "{}"],
    "sweep --output": ["sweep", "-o", "{}", "--", "true"],
    "fleet tune --output": ["fleet", "tune", *BOTH, "-o", "{}", "--", "true"],
    "tune --output": ["tune", "-o", "{}", "--", "true"],
    "calibrate --output": ["calibrate", ".", "-o", "{}"],
    "fingerprint --output": ["fingerprint", "--apply", "tuning", "-o", "{}"],
    "boards new --output": ["boards", "new", "-o", "{}"],
}
# Text other than a path on this machine, and words of the command that is run.
OTHERS = {
    *(f"{command} --target" for command in ("doctor", "record", "confirm", "sweep", "tune")),
    *(f"{command} --target" for command in ("calibrate", "script", "fingerprint", "boards new")),
    *(f"{command} --until-output" for command in ("record", "sweep", "tune")),
    *(f"{command} --user" for command in ("record", "sweep", "tune")),
    *(f"{command} --windows" for command in ("predict", "sweep", "boards run")),
    *(f"{command} --device" for command in ("sweep", "tune", "fingerprint")),
    *(f"{command} command_line" for command in ("record", "tune", "boards run")),
    *(f"boards {action} {of}" for action in ("run", "start") for of in ("board", "--kernel")),
    *("boards run --package", "boards start --package"),
    *("boards start --name", "boards start --append", "boards stop names"),
    *("boards start --module", "boards start --image"),  # the board boots the image as it is
    *(
        "script --state-dir",
        "record --state-dir",
        "doctor --folder",
        "prefetch --only",
    ),  # of the board
    *("layout --target", "layout --mountpoint", "advise --mountpoint"),
    *(f"{command} --mountpoint" for command in ("predict", "validate", "script", "confirm")),
    *(f"{command} --unpacking" for command in ("validate", "script", "confirm")),  # as predict
    "advise --unpacking",  # with an image alone; layout reads it by the same function
    *("advise --root", "layout --root", "prefetch --root"),  # folders, read as the board would
    "fleet analyse --dask",
    "fleet analyse sources",  # addresses, whose errors are rows (test_fleet.py)
    "top --target",
    *(f"fleet tune {one}" for one in ("--target", "--scenario", "--device", "command_line")),
    *(f"fleet tune {one}" for one in ("--until-output", "--user")),
    "fleet tune --identity",  # each board's process opens its target as tune does
    "fleet confirm --target",
    # Read before a board is opened, by the functions of confirm.
    *(f"fleet confirm {one}" for one in ("--device-model", "--advice", "--replayer", "--image")),
    *(f"fleet confirm {one}" for one in ("--mountpoint", "--unpacking", "--identity")),
    "tune --scenario",  # reads or writes on the measured machine, for as long as a run lasts
}
# Calls that are left out: a large file is what this measures, for half a minute.
# Before it connects confirm predicts, for seconds; every command checks a key by the same function.
LEFT_OUT = {
    ("calibrate device", "growing.toml"),
    *(("confirm --identity", name) for name in NAMES[1:]),
}
# ssh itself judges the text of a key, when the connection stands.
KEYS = ("growing.toml", "empty.toml")
NO_CONNECTION = "ssh://root@127.0.0.1:1: connecting"


def _options(parser: argparse.ArgumentParser, words: str = ""):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                yield from _options(sub, f"{words}{name} ")
        elif action.nargs != 0 and not action.choices and action.type in (None, Path):
            yield words + (action.option_strings or [action.dest])[-1]


def test_every_option_that_takes_text_is_in_the_tables():
    """A new option must be added to INPUTS or OUTPUTS if it takes a path, else to OTHERS."""
    known = {*INPUTS, *OUTPUTS, *OTHERS} - {"tune --resume", "fleet tune --resume"}
    assert set(_options(build_parser())) - {"--version"} == known


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("special")
    (made / "list").write_bytes(b"foreread-prefetch 1\n0 4096 /bin/sh\n")
    shutil.copy(EXAMPLES / "python-start.capture.tar.xz", made / CAPTURE)
    (made / "full").symlink_to("/dev/full")
    (made / "read-only").mkdir(mode=0o500)
    tuned(made / "tuning")
    store_of(made / "fleet-store", analysed())
    learn(made / "tuning", BY_NAME["read-random-small"])
    with special_files(made):
        yield made


@pytest.mark.parametrize("case", INPUTS)
def test_an_input_that_is_no_plain_file_is_refused_in_one_line(case, folder):
    names = [name for name in NAMES if (case, name) not in LEFT_OUT]
    calls = [_words(INPUTS[case], folder / name) for name in names]
    for name, seen in zip(names, outcomes(calls, folder), strict=True):
        of_ssh = case.endswith("--identity") and name in KEYS
        _check_refused(seen, NO_CONNECTION if of_ssh else name)


FOLDERS = ("record", "report", "script", "advise", "layout", "fleet")
# Where a result is a folder, one that is missing is made, and one that is there is filled.
BAD_FILES = ("full", "pipe.toml", "missing/out", "socket.toml", "loop.toml", "folder.toml")
BAD_FOLDERS = ("full", "pipe.toml", "socket.toml", "loop.toml", "list", "list/below")


@pytest.mark.parametrize("case", OUTPUTS)
def test_an_output_that_cannot_be_written_is_named_in_one_line(case, folder):
    to_folder = case.split()[0] in FOLDERS and case != "fleet tune --output"
    names = [*(BAD_FOLDERS if to_folder else BAD_FILES), "read-only/out"]
    before = _content(folder)
    calls = [_words(OUTPUTS[case], folder / name) for name in names]
    for name, seen in zip(names, outcomes(calls, folder), strict=True):
        _check_refused(seen, name.partition("/")[0])
    assert _content(folder) == before


@pytest.mark.parametrize("case", ["fingerprint --output", "boards new --output"])
def test_a_file_that_is_cut_off_while_it_is_written_is_no_result(case, folder):
    before = _content(folder)
    (seen,) = outcomes([_words(OUTPUTS[case], folder / "cut")], folder, most_bytes=100)
    _check_refused(seen, "cut")
    assert _content(folder) == before


def _words(words: list[str], path: Path) -> list[str]:
    return [word.replace("{}", str(path)) for word in words]


def _check_refused(seen: Outcome, name: str) -> None:
    """Check that one line is an error, names the file, and says what to do; others are steps."""
    errors = [line for line in seen.stderr.splitlines() if " -- " in line]
    assert seen.code in (1, 2), seen
    assert "Traceback" not in seen.stderr
    assert len(errors) == 1, seen
    assert errors[0] == seen.stderr.splitlines()[-1]
    assert name in errors[0], seen


def _content(folder: Path) -> dict[str, int]:
    """Return the files below a folder with their sizes, but for the one that grows."""
    found = {str(path): path.lstat().st_size for path in folder.rglob("*")}
    return {path: size for path, size in found.items() if "growing" not in path}
