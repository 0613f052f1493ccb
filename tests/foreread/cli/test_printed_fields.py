"""One table of all printed fields: none of them brings a raw control character to a terminal.

The documents are made from the declarations of their structs, so that a new text field is tested
without being named here. Fields in KEPT refer to others or are parsed: in the documents that have
all other texts hostile they keep their values, and each is tested by itself.
"""

import contextlib
import io
import json
import shutil
from pathlib import Path

import msgspec
import pytest
from forged_tunings import forge
from hostile_documents import HOSTILE, hostile, text_fields
from rings import further
from tuned_stores import tuned

import foreread.analyzer.report.make
import foreread.cli.commands.advise
from foreread.analyzer.tuner.engines.fingerprint import BY_NAME
from foreread.analyzer.tuner.findings.plans import learn
from foreread.boards.base.document import encode
from foreread.boards.profile import Profile, load_profile
from foreread.boards.profile_toml import encode_profile
from foreread.cli.commands import show
from foreread.cli.main import main
from foreread.error import ERRORS
from foreread.tracer.formats.archive import unpack
from foreread.tracer.formats.capture import DISK, FILES, METADATA, Capture, FileEntry
from foreread.tracer.formats.disk_probe import DiskProbe
from foreread.tracer.formats.sweep import Sweep

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/python-start"
TEXT = ROOT / "tests/analyzer/ingest/data/ftrace/trace.txt"
pytestmark = pytest.mark.usefixtures("page_only")

# Texts of a capture that refer to others of it or to the trace, or that readers parse.
KEPT = {
    METADATA: (
        *("clock", "created", "events.[]", "lost.{}", "confirmations.[].created", "host.machine"),
        *("devices.[].dev", "devices.[].name", "devices.[].filesystems.[]", "mounts.[].dev"),
        *("mounts.[].fstype", "mounts.[].mountpoint", "host.kernel"),
    ),
    FILES: ("[].dev", "[].path"),
    DISK: (),
    "sweep": ("scenario",),
}
KINDS = {METADATA: Capture, FILES: list[FileEntry], DISK: DiskProbe, "sweep": Sweep}
COMMANDS = {
    "show": ["show", "CAPTURE"],
    "show wasted": ["show", "CAPTURE", "--by", "wasted", "--pid", "all", "-v"],
    "show json": ["show", "CAPTURE", "--json"],
    "predict": ["predict", "CAPTURE"],
    "predict published": ["predict", "CAPTURE", "--criterion", "published", "-v"],
    "predict json": ["predict", "CAPTURE", "--json"],
    "advise": ["advise", "CAPTURE", "--board", "loop", "-o", "OUT/advice"],
    "forecast": ["forecast", "CAPTURE", "--model", "linux-6.12"],
    "forecast json": ["forecast", "CAPTURE", "--model", "linux-6.12", "--json"],
    "prefetch": ["prefetch", "CAPTURE", "-o", "OUT/list"],
    "report --open": ["report", "CAPTURE", "--open"],
    "export": ["export", "CAPTURE", "--format", "csv", "-o", "OUT/csv"],
    "script": ["script", "CAPTURE", "-o", "OUT/script", "--read-ahead-kb", "32"],
    "predict --measured": ["predict", "CAPTURE", "--measured", "SWEEP", "-v"],
    "report": ["report", "CAPTURE", "SWEEP", "-o", "OUT/report"],
}
FEW = ("show", "predict", "script")  # for each of the kept fields


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """The plain values in the shipped capture and sweep; the capture's folder."""
    folder = tmp_path_factory.mktemp("example")
    unpack(next(EXAMPLE.glob("*.capture.tar.xz")), folder)
    metadata = next(folder.rglob(METADATA))
    values = {
        name: json.loads((metadata.parent / name).read_text())
        for name in KINDS
        if (metadata.parent / name).exists()
    }
    swept = json.loads((EXAMPLE / "python-start.sweep.json").read_text())
    values["sweep"] = {"scenario": "idle", **swept}  # older than the field
    return metadata.parent, values


def run(words, out=None):
    """Run a command and check what it prints and writes; return its exit code and its stdout."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        code = main([str(word) for word in words])
    print(stderr.getvalue())
    for shown in (stdout.getvalue(), stderr.getvalue()):
        check_text(shown, words)
    for file in out.rglob("*") if out else ():
        if file.is_file():
            check_text(file.read_bytes().decode(), f"{words}: {file.name}")
    return code, stdout.getvalue()


def check_text(text, where):
    """Fail for a control character, and for a line that begins with what a field holds."""
    raw = {c for c in text if not c.isprintable() and c not in "\n\t"} - set("\u2009\u00a0\u202f")
    assert not raw, (where, raw)
    assert not any(line.startswith("FORGED") for line in text.splitlines()), where


def run_all(folder, tmp_path, names=COMMANDS):
    """Return the exit codes of the commands on a capture and a sweep in ``folder``."""
    codes = {}
    for name in names:
        out = tmp_path / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        places = {"CAPTURE": folder / "capture", "SWEEP": folder / "sweep"}
        words = [places.get(w, w.replace("OUT", str(out))) for w in COMMANDS[name]]
        codes[name] = run(words, out)[0]
    return codes


def written(folder, source, values):
    """Write a capture and a sweep of these values."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder / "capture")
    for name, value in values.items():
        place = folder / "sweep" if name == "sweep" else folder / "capture" / name
        place.write_text(encode(value))


def forged(values, kept):
    return {
        name: hostile(KINDS[name], value, frozenset(kept.get(name, ())))
        for name, value in values.items()
    }


def test_the_table_has_no_field_that_is_gone():
    for name, kept in KEPT.items():
        assert set(kept) <= set(text_fields(KINDS[name])), name


@pytest.mark.thorough
def test_every_text_of_a_capture_and_a_sweep_is_escaped(documents, tmp_path, monkeypatch):
    source, values = documents
    kept = []

    def advised(*args, **more):  # once, for advise, view and report: it replays for seconds
        kept.append(kept[0] if kept else advise(*args, **more))
        return kept[0]

    advise = foreread.analyzer.report.make.advise
    monkeypatch.setattr(foreread.analyzer.report.make, "advise", advised)
    monkeypatch.setattr(foreread.cli.commands.advise, "advise", advised)
    written(tmp_path / "in", source, forged(values, KEPT))
    codes = run_all(tmp_path / "in", tmp_path)
    assert set(codes.values()) == {0}, codes  # else others were not printed


@pytest.mark.parametrize(
    ("name", "field"), further([(name, field) for name, kept in KEPT.items() for field in kept])
)
def test_a_text_that_others_refer_to_is_escaped(name, field, documents, tmp_path):
    source, values = documents
    kept = {one: text_fields(kind) for one, kind in KINDS.items()}
    kept[name] = [one for one in kept[name] if one != field]
    written(tmp_path / "in", source, forged(values, kept))
    codes = run_all(tmp_path / "in", tmp_path, FEW)
    print(codes)
    assert set(codes.values()) <= {0, 1}


PLACES = {
    "boards": ("name", "kernel"),
    "scenarios": ("name",),
    "campaign": ("sampler", "foreread"),
}
JSON_PLACES = {
    ("boards", "hardware"): {
        "machine": HOSTILE,
        "model": HOSTILE,
        "disks": [{"name": "sda", "size_bytes": 1, "model": HOSTILE}],
    },
    ("campaign", "command"): [HOSTILE, HOSTILE],
    ("evaluations", "notes"): [HOSTILE],
    ("evaluations", "metrics"): {HOSTILE: 1.0},
}


@pytest.fixture(scope="module")
def tuning(tmp_path_factory):
    path = tmp_path_factory.mktemp("printed") / "hostile.tuning"
    tuned(path, scenarios=("reader", "idle"), runs=30)
    learn(path, BY_NAME["read-random-small"])
    plain = HOSTILE.replace("\udc80", "")
    statements = [
        f"UPDATE {table} SET {column} = CAST(x'{plain.encode().hex()}' AS TEXT) || rowid"
        for table, columns in PLACES.items()
        for column in columns
    ]
    for (table, column), value in JSON_PLACES.items():
        text = json.dumps(value).replace("\\udc80", "")
        statements.append(f"UPDATE {table} SET {column} = CAST(x'{text.encode().hex()}' AS TEXT)")
    forge(path, *statements)
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["script", "TUNING", "-o", "OUT/script"],
        ["report", "TUNING", "-o", "OUT/report"],
        ["fingerprint", "--apply", "TUNING", "-o", "OUT/watch.sh"],
    ],
    ids=lambda words: words[0],
)
def test_every_text_of_a_tuning_is_escaped(words, tuning, tmp_path):
    words = [tuning if w == "TUNING" else w.replace("OUT", str(tmp_path)) for w in words]
    run(words, tmp_path)


def test_every_text_of_a_profile_is_escaped_or_refused(tmp_path):
    plain = msgspec.to_builtins(load_profile("arm64"))
    made = hostile(Profile, plain, frozenset({"name", "schema", "transport.board"}))
    profile = msgspec.convert(made, Profile, strict=False)
    path = tmp_path / "hostile.toml"
    path.write_text(encode_profile(profile))
    check_text(path.read_text(), "the TOML of a profile")
    for words in (["show", path], ["show", path, "--json"]):
        run(["boards", *words])
    run(["predict", TEXT, "--device-model", path])


def test_names_in_a_trace_are_escaped(tmp_path):
    path = tmp_path / HOSTILE.replace("/", "")
    path.write_text(TEXT.read_text().replace("cat-", "\x1b[2J-"))
    for command in ("show", "predict"):
        run([command, path])
    assert run(["show", tmp_path / f"none{HOSTILE}"])[0] == 1


@pytest.mark.parametrize("base", ERRORS, ids=lambda base: base.__name__)
def test_errors_and_remedies_are_one_escaped_line(base, monkeypatch, capsys):
    def fail(_args):
        raise base(f"a target said {HOSTILE}", f"read {HOSTILE}")

    monkeypatch.setattr(show, "run", fail)
    assert main(["show", "capture"]) == 1
    said = capsys.readouterr().err
    check_text(said, base)
    assert said.count("\n") == 1
