"""Every command refuses an output that it cannot write before it begins its work.

The table is complete: the options come from the parsers.
"""

import os
import re
import stat
import subprocess
import sys
from random import Random

import pytest
from parsed_options import declared_outputs, text_options
from property_tests import examples
from special_files import AT_WORK, Outcome, special_files
from tuned_stores import tuned

from foreread.analyzer.prefetch.state import SUFFIX
from foreread.analyzer.tuner.engines.fingerprint import BY_NAME
from foreread.analyzer.tuner.findings.plans import learn
from foreread.cli.arguments.forms import FORMS
from foreread.cli.commands import boards

BOTH = "--target ssh://a --target ssh://b"
# What each option names; the path stands for {}. No input exists, since no command may read it.
OUTPUTS = {
    "improve --output": ("folder", "improve -o {} -- none"),
    "record --output": ("capture", "record -o {} -- none"),
    "advise --output": ("folder", "advise none -o {}"),
    "calibrate --output": ("new file", "calibrate none -o {}"),
    "calibrate --profile": ("profile", "calibrate none --profile {}"),
    "doctor --profile": ("profile", "doctor --judge --profile {}"),
    "confirm capture": ("changed capture", "confirm {}"),
    "sweep --output": ("new file", "sweep -o {} -- none"),
    "tune --output": ("new file", "tune -o {} -- none"),
    "tune --resume": ("changed tuning", "tune -o {} --resume -- none"),
    "tune --target --output": ("new file", f"tune {BOTH} -o {{}} -- none"),
    "tune --target --resume": ("changed tuning", f"tune {BOTH} -o {{}} --resume -- none"),
    "confirm --target capture": ("changed capture", f"confirm {BOTH} {{}}"),
    "diff --markdown": ("file", "diff none none --markdown {}"),
    "diff --junit": ("file", "diff none none --junit {}"),
    **{
        f"{command} --{form}": ("file", f"{words} --{form} {{}}")
        for command, words in (("diff", "diff none none"), ("predict", "predict none"))
        for form in FORMS
    },
    **{
        key: value
        for command, words in (
            ("diff", "diff none none"),
            ("predict", "predict none"),
            ("sweep", "sweep -o new.json none"),
        )
        for key, value in (
            (f"{command} --history", ("history", f"{words} --history {{}} 1a2b3c")),
            (f"{command} --plot", ("plot", f"{words} --history new.json 1a2b3c --plot {{}}")),
        )
    },
    "fleet analyse --output": ("store", "fleet analyse none -o {}"),
    "fleet report --output": ("folder", "fleet report none -o {}"),
    "report --output": ("folder", "report none -o {}"),
    "script --output": ("folder", "script none -o {}"),
    "prefetch --output": ("file", "prefetch none -o {}"),
    "prefetch --root": ("state", "prefetch none --root . -o {}"),
    "layout --output": ("folder", "layout none -o {}"),
    "export --output": ("file", "export none --format csv -o {}"),
    "fingerprint --output": ("file", "fingerprint --apply none -o {}"),
    "fingerprint --learn": ("changed tuning", "fingerprint --learn {}"),
    "boards new --output": ("new file", "boards new -o {}"),
}
FURTHER = {  # more of an --output, and with several boards
    *("tune --resume", "prefetch --root", "tune --target --output", "tune --target --resume"),
    "confirm --target capture",
}
NO_FILE = (
    *("folder.toml", "socket.toml", "loop.toml", "shut-pipe", "missing/out", "file/below"),
    *("read-only/out", "read-only/file", "closed/out"),
)
NO_FOLDER = (
    *("file", "null", "pipe.toml", "socket.toml", "loop.toml", "dangling.toml", "file/below"),
    *("read-only", "read-only/out", "read-only/more/out", "closed", "closed/out"),
)
FOLDERS = ("folder.toml", "link", "others", "new", "missing/out")
REFUSED = {
    "file": NO_FILE,
    "state": ("stated", "read-only/out"),  # a folder has the name of the state
    "new file": (*NO_FILE, "file", "dangling.toml", "null", "full", "pipe.toml", "terminal.toml"),
    "history": (*NO_FILE, "file", "null", "full", "pipe.toml", "terminal.toml"),
    "plot": ("new", "file", "missing/out.svg", "folder.toml"),
    "folder": NO_FOLDER,
    "store": NO_FOLDER,
    "capture": (*NO_FOLDER, "others", "captured"),
    "profile": ("read-only/profile.toml", "missing/out", "pipe.toml"),
    "changed capture": ("read-only", "read-only/file"),
    "changed tuning": ("read-only/file", "read-only/link", "unreadable.toml"),
}
# Whether a device or a pipe takes all bytes shows when they are written. What does not exist
# cannot be changed, and reading it is the better error.
TAKEN = {
    "file": (
        *("new", "file", "dangling.toml", "null", "full", "pipe.toml", "held-pipe.toml"),
        "terminal.toml",
    ),
    "state": ("new",),
    "new file": ("new",),
    "history": ("new", "dangling.toml"),
    "plot": ("new.svg", "new.png"),
    "folder": FOLDERS,
    "store": (*FOLDERS, "s3://bucket/store"),
    "capture": ("folder.toml", "link", "interrupted", "new", "missing/out"),
    "profile": ("profile.toml",),
    "changed capture": ("folder.toml", "file", "read-only/none", "closed/none"),
    "changed tuning": ("file", "link-to-file", "read-only/none"),
}


def test_every_declared_output_is_in_the_table():
    assert set(declared_outputs()) == set(OUTPUTS) - FURTHER


def test_every_option_for_what_is_written_is_declared():
    """A new one that a command alone knows fails here, by its name or by its help."""
    named = {
        key
        for key, action in text_options().items()
        if "-o" in action.option_strings or re.search(r"\b(write|create|store in)\b", action.help)
    }
    assert len(named) > 15
    assert named - set(declared_outputs()) == {"layout --target"}  # it writes into -o


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("outputs")
    for name, place in (("full", "/dev/full"), ("null", "/dev/null"), ("link", "folder.toml")):
        (made / name).symlink_to(place)
    (made / "file").write_text("mine")
    (made / "link-to-file").symlink_to("file")
    (made / "profile.toml").write_text(
        'schema = 1\nname = "a"\ntitle = "A"\nmeasured_here = true\n'
    )
    for name in ("others", "captured", "interrupted/trace", f"stated{SUFFIX}", "read-only"):
        (made / name).mkdir(parents=True)
    (made / "others/mine").touch()
    (made / "captured/capture.json").touch()
    os.mkfifo(made / "shut-pipe", 0)
    (made / "read-only/file").touch()
    (made / "read-only/link").symlink_to("file")
    (made / "read-only/profile.toml").write_bytes((made / "profile.toml").read_bytes())
    (made / "read-only").chmod(0o500)
    (made / "closed").mkdir(mode=0)
    tuned(made / "tuning")
    learn(made / "tuning", BY_NAME["read-random-small"])
    with special_files(made):
        yield made


def _calls(places):
    """Return the words of each call, by option and path: with each change of some paths."""
    return {
        (option, name): words.format(name).split()
        for option, (kind, words) in OUTPUTS.items()
        for name in Random(option).sample(places[kind], examples(len(places[kind])))
    }


def test_an_output_that_cannot_be_written_is_refused_before_the_work(folder, outcomes):
    calls, before = _calls(REFUSED), _content(folder)
    seen = zip(calls, outcomes(list(calls.values()), folder, idle=True), strict=True)
    wrong = [(call, one) for call, one in seen if not _is_refusal(one, *call)]
    assert wrong == []
    assert _content(folder) == before


def test_every_other_output_is_left_to_the_command(folder, outcomes):
    calls, before = _calls(TAKEN), _content(folder)
    seen = zip(calls, outcomes(list(calls.values()), folder, idle=True), strict=True)
    assert [(call, one) for call, one in seen if one != Outcome(AT_WORK, "", "")] == []
    assert _content(folder) == before


def test_an_error_names_the_option_and_what_suits_the_command(folder, outcomes):
    calls = {
        "diff none none --junit folder.toml": (1, "give the name of a file with --junit"),
        "calibrate none --profile arm64": (2, "foreread boards new -o FILE"),
        "tune -o file -- none": (1, "continue it with --resume"),
        "boards new -o file": (1, "has no changes of yours"),
        "record -o captured -- none": (1, "already contains a capture"),
    }
    seen = outcomes([words.split() for words in calls], folder, idle=True)
    for one, (code, text) in zip(seen, calls.values(), strict=True):
        assert one.code == code
        assert text in one.stderr


def test_a_write_that_fails_is_named_in_one_line(folder, outcomes):
    before = _content(folder)
    words = ("fingerprint", "--apply", "tuning", "-o")
    calls = [[*words, name] for name in ("full", "pipe.toml", "null")]
    full, pipe, null = outcomes(calls, folder)
    assert _is_refusal(full, "fingerprint --output", "full")
    assert _is_refusal(pipe, "fingerprint --output", "pipe.toml")
    assert (null.code, null.stdout) == (0, "script: null\n")
    assert _content(folder) == before


@pytest.mark.parametrize("words", ["fingerprint --apply tuning -o cut", "boards new -o cut"])
def test_a_file_that_is_cut_off_while_it_is_written_is_no_result(words, folder, outcomes):
    before = _content(folder)
    (seen,) = outcomes([words.split()], folder, most_bytes=100)
    assert _is_refusal(seen, "fingerprint --output", "cut")
    assert _content(folder) == before


def test_a_profile_that_appears_while_the_board_is_read_stays(tmp_path, monkeypatch, run):
    path, read = tmp_path / "mine.toml", boards.live_profile

    def appearing():
        path.write_text("mine")
        return read()

    monkeypatch.setattr(boards, "live_profile", appearing)
    assert f"{path} exists already -- " in run("boards", "new", "-o", path, code=1).err
    assert path.read_text() == "mine"


@pytest.mark.kernel
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount: no read-only disk was tried")
def test_a_read_only_file_system_is_named(tmp_path):
    mounting = 'mount -t tmpfs -o ro none "$1" && exec "$2" -m foreread report none -o "$1/out"'
    words = ("unshare", "-m", "sh", "-c", mounting, "sh", tmp_path, sys.executable)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        f"foreread: {tmp_path} is on a read-only file system -- write to another place with -o\n"
    )


def _is_refusal(seen, option, name):
    """Return whether a call ended in one line that names a path, and says what to do."""
    first, _, rest = seen.stderr.partition("\n")
    named, _, remedy = first.partition(" -- ")
    return seen.code == 1 and not rest and name.partition("/")[0] in named and bool(remedy)


def _content(folder):
    """Return the files below a folder with their sizes, but for the one that grows."""
    found = {str(path): path.lstat() for path in folder.rglob("*") if path.name != "growing.toml"}
    return {path: (stat.S_IFMT(one.st_mode), one.st_size) for path, one in found.items()}
