"""Every path that a command reads, given every kind of file that is not plain data.

The tables are complete: test_every_option_that_takes_text_is_in_the_tables walks the parsers.
test_outputs.py has the paths that a command writes.
"""

import shutil
from pathlib import Path
from random import Random

import pytest
from fleet_rows import analysed, store_of
from parsed_options import declared_outputs, text_options
from property_tests import examples
from rings import further
from special_files import NAMES, special_files
from tuned_stores import tuned

from foreread.analyzer.tuner.engines.fingerprint import BY_NAME
from foreread.analyzer.tuner.findings.plans import learn

SMALL = Path(__file__).parents[1] / "data/arm64-madplay/arm64-madplay.capture.tar.xz"
CAPTURE = "capture.tar.xz"  # a copy, since confirm writes to it
TRACE = str(Path(__file__).parents[2] / "analyzer/ingest/data/foreign/plain.txt")
SSH = ["--target", "ssh://root@127.0.0.1:1"]
# The path stands for {}; a key is a command and its option or argument.
INPUTS = {
    "show capture": ["show", "{}"],
    "show --inodes": ["show", TRACE, "--inodes", "{}"],
    "predict capture": ["predict", "{}"],
    "predict --device-model": ["predict", CAPTURE, "--device-model", "{}"],
    "predict --image": ["predict", CAPTURE, "--image", "{}"],
    "predict --unpacking": ["predict", CAPTURE, "--image", "image", "--unpacking", "{}"],
    "predict --measured": ["predict", CAPTURE, "--measured", "{}"],
    "script --image": ["script", CAPTURE, "-o", "out", "--image", "{}"],
    "confirm --image": ["confirm", CAPTURE, "--image", "{}"],
    "advise capture": ["advise", "{}"],
    "advise --device-model": ["advise", CAPTURE, "--device-model", "{}"],
    "advise --board": ["advise", CAPTURE, "--board", "{}"],
    "advise --source": ["advise", CAPTURE, "-o", "out", "--source", "{}"],
    "layout capture": ["layout", "{}", "-o", "out"],
    "layout --image": ["layout", CAPTURE, "--image", "{}", "-o", "out"],
    "layout --device-model": ["layout", CAPTURE, "--device-model", "{}", "-o", "out"],
    "layout --kernel-config": ["layout", CAPTURE, "--kernel-config", "{}", "-o", "out"],
    "layout --unpacking": ["layout", CAPTURE, "--unpacking", "{}", "-o", "out"],
    "advise --image": ["advise", CAPTURE, "--image", "{}"],
    "fleet analyse --device-model": [
        *("fleet", "analyse", CAPTURE, "-o", "out", "--device-model", "{}"),
    ],
    "fleet report store": ["fleet", "report", "{}", "-o", "out"],
    "diff old": ["diff", "{}", CAPTURE],
    "diff new": ["diff", CAPTURE, "{}"],
    "diff --device-model": ["diff", CAPTURE, CAPTURE, "--device-model", "{}"],
    "record --suite": ["record", "--suite", "{}"],
    "confirm --suite": ["confirm", "--suite", "{}"],
    "improve --suite": ["improve", "--suite", "{}", "-o", "out"],
    "forecast capture": ["forecast", "{}", "--model", "linux-6.12"],
    "forecast --device-model": [
        *("forecast", CAPTURE, "--model", "linux-6.12", "--device-model", "{}"),
    ],
    "forecast --rules": ["forecast", CAPTURE, "--rules", "{}"],
    "report capture": ["report", "{}", "-o", "out"],
    "report measured": ["report", CAPTURE, "{}", "-o", "out"],
    "report --prefetch": ["report", CAPTURE, "--prefetch", "{}", "-o", "out"],
    "report --device-model": ["report", CAPTURE, "--device-model", "{}", "-o", "out"],
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
    "confirm --shim": ["confirm", CAPTURE, "--advice", "none", "--shim", "{}"],
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
    "advise --boards": ["advise", CAPTURE, "--boards", "{}"],
    "doctor capture": ["doctor", "{}"],
    "doctor --identity": ["doctor", *SSH, "--identity", "{}"],
    "record --identity": ["record", "-o", "out", *SSH, "--identity", "{}", "--", "true"],
    "predict --load": ["predict", CAPTURE, "--load", "{}"],
    "confirm --identity": ["confirm", CAPTURE, "--read-ahead-kb", "16", *SSH, "--identity", "{}"],
    "sweep --identity": ["sweep", "-o", "out", *SSH, "--identity", "{}", "--", "true"],
    "tune --identity": ["tune", "-o", "out", *SSH, "--identity", "{}", "--", "true"],
    "calibrate --identity": ["calibrate", ".", *SSH, "--identity", "{}"],
    "script --identity": ["script", "--uninstall", *SSH, "--identity", "{}"],
    "doctor --profile": ["doctor", "--judge", *SSH, "--profile", "{}"],
    "fingerprint --identity": ["fingerprint", *SSH, "--identity", "{}"],
    "top --identity": ["top", "--once", *SSH, "--identity", "{}"],
    "boards new --identity": ["boards", "new", *SSH, "--identity", "{}"],
}
# Text other than a path on this machine, and words of the command that is run.
OTHERS = {
    *(f"{command} --target" for command in ("doctor", "record", "confirm", "sweep", "tune")),
    *(f"{command} --target" for command in ("calibrate", "script", "fingerprint", "boards new")),
    *(f"{command} --until-output" for command in ("record", "sweep", "tune")),
    *(f"{command} --user" for command in ("record", "sweep", "tune")),
    *(f"{command} --windows" for command in ("predict", "sweep", "boards run")),
    *(f"{command} --device" for command in ("record", "sweep", "tune", "fingerprint")),
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
    *(f"{command} --mountpoint" for command in ("predict", "script", "confirm")),
    *(f"{command} --unpacking" for command in ("script", "confirm")),  # as predict
    "advise --unpacking",  # with an image alone; layout reads it by the same function
    *("advise --root", "layout --root", "prefetch --root"),  # folders, read as the board would
    # All commands read the list as show does.
    *(f"{command} --inodes" for command in ("predict", "advise", "layout", "export")),
    *(f"{command} --inodes" for command in ("forecast", "report", "prefetch", "script")),
    "fleet analyse --dask",
    "fleet analyse sources",  # addresses, whose errors are rows (test_fleet.py)
    "top --target",
    # Passed on to record, confirm and tune.
    *(f"improve {of}" for of in ("--target", "--identity", "--scenario", "--until-output")),
    *("improve --user", "improve command_line"),
    # Read or written on the measured machine, for as long as a run lasts.
    *(f"{command} --scenario" for command in ("record", "tune", "sweep", "confirm")),
    *(f"{command} --load" for command in ("advise", "script", "report", "improve")),  # as predict
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


def test_every_option_that_takes_text_is_in_the_tables():
    """A new option must be added to INPUTS if its path is read, or to OTHERS; or be an output."""
    inputs = set(INPUTS) - {"tune --resume"}
    assert set(text_options()) == {*inputs, *OTHERS, *declared_outputs()}
    assert set(declared_outputs()) & OTHERS == set()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("special")
    (made / "list").write_bytes(b"foreread-prefetch 1\n0 4096 /bin/sh\n")
    shutil.copy(SMALL, made / CAPTURE)
    tuned(made / "tuning")
    store_of(made / "fleet-store", analysed())
    learn(made / "tuning", BY_NAME["read-random-small"])
    with special_files(made):
        yield made


# Of each kind of input, one command with each change.
NOW = [*{case.split()[-1]: case for case in INPUTS}.values()][::3]


@pytest.mark.parametrize("case", further(INPUTS, NOW))
def test_an_input_that_is_no_plain_file_is_refused_in_one_line(case, folder, outcomes):
    names = [name for name in NAMES if (case, name) not in LEFT_OUT]
    names = Random(case).sample(names, examples(len(names)))
    calls = [_words(INPUTS[case], folder / name) for name in names]
    for name, seen in zip(names, outcomes(calls, folder), strict=True):
        of_ssh = case.endswith("--identity") and name in KEYS
        _check_refused(seen, NO_CONNECTION if of_ssh else name)


def _words(words, path):
    return [word.replace("{}", str(path)) for word in words]


def _check_refused(seen, name):
    """Check that one line is an error, names the file, and says what to do; others are steps."""
    errors = [line for line in seen.stderr.splitlines() if " -- " in line]
    assert seen.code in (1, 2), seen
    assert "Traceback" not in seen.stderr
    assert len(errors) == 1, seen
    assert errors[0] == seen.stderr.splitlines()[-1]
    assert name in errors[0], seen
