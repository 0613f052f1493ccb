"""``foreread improve --suite`` without a board: its steps, their order, and what is kept of them.

The recordings are captures of tests/foreread/data/suite, their predictions and the boot scripts are
real. A bench stands in for what needs a board or takes minutes, and notes each call.
"""

import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

import foreread
import foreread.analyzer.report.make
from foreread.analyzer.ingest.archive import unpack
from foreread.analyzer.suite.advised import SuiteAdvised
from foreread.analyzer.suite.answer import SuiteAdvice
from foreread.analyzer.suite.predicted import predict_suite
from foreread.analyzer.suite.read import read_suite
from foreread.boards.target import TargetError
from foreread.cli.main import build_parser, main
from foreread.documents.suite import SuiteBoardProof, SuiteConfirmationDocument
from foreread.improving import suite as improve_suite
from foreread.improving.improve import improve
from foreread.recording.recorded_start import Question
from foreread.recording.suite import SuiteRecorded
from foreread.tracer.formats.capture import read

CAPTURES = Path(__file__).parents[1] / "data/suite"
TARGETS = {"arm64": "ssh://root@board", "x86_64": "local"}
WINDOWS_KB = {"arm64": 48, "x86_64": 96}
SUITE = """\
schema = 1
[[board]]
name = "arm64"
target = "ssh://root@board"
[[board]]
name = "x86_64"
[[start]]
name = "madplay"
command = ["madplay", "a.mp3"]
"""
RECORDED = ["check", "check", "record", "predict", "advise", "confirm", "report", "report"]


class SuiteBench:
    """Boards that record the captures, and confirm or contradict what is predicted.

    ``calls`` are the names of the steps that did something, in order. ``fails``: raises instead of
    a step, by its name. ``outcome``: of the runs of each board.
    """

    def __init__(self):
        self.calls = []
        self.fails = {}
        self.outcome = dict.fromkeys(TARGETS, "confirmed")
        self.ended_by = "exit"

    def call(self, name):
        """Note a call, or raise what it fails with."""
        if name in self.fails:
            raise self.fails[name]
        self.calls.append(name)

    def check(self, target, _identity, _watch):
        self.call(f"check {target}")
        return "Linux 6.12, records with tracefs"

    def record(self, path, **_):
        self.call("record")
        of, made, present = read_suite(path), [], []
        for board in of.boards:
            for case in board.cases:
                present += [one for one in case.captures if one not in case.missing]
                made += [self._recorded(board.board.name, one) for one in case.missing]
        return SuiteRecorded(of, tuple(made), tuple(present))

    def _recorded(self, board, path):
        archive = CAPTURES / f"{board}-madplay-1.capture.tar.xz"
        path.parent.mkdir(parents=True)
        unpack(archive, path.parent).rename(path)
        capture, _ = read(path)
        return path, SimpleNamespace(created=capture.created, ended_by=self.ended_by)

    def advise(self, suite, **_):
        self.call("advise")
        return SuiteAdvised(SuiteAdvice(suite=suite.name, table="advice.json", disks=[]))

    def confirm(self, path, options, **_):
        self.call("confirm")
        proofs = [self._proof(name) for name in TARGETS]
        return SuiteConfirmationDocument(suite=read_suite(path).name, boards=proofs, unchanged=[])

    def _proof(self, board):
        is_faster = self.outcome[board] == "confirmed"
        gain = 0.12 if is_faster else -0.08
        return SuiteBoardProof(
            board=board,
            disk="slow0",
            read_ahead_kb=WINDOWS_KB[board],
            outcome=self.outcome[board],
            seconds_now=1.0,
            seconds=1 - gain,
            gain=gain,
            low=gain - 0.01,
            high=gain + 0.01,
            predicted_gain=0.12,
            starts=[],
        )

    def report(self, _of, output, **_):
        self.call("report")
        output.mkdir(parents=True, exist_ok=True)
        (output / "index.html").write_text("report")
        return SimpleNamespace(html=output / "index.html")


@pytest.fixture(scope="module")
def predicted():
    """The prediction of each recording, and of a suite of both."""
    paths = {name: CAPTURES / f"{name}-madplay-1.capture.tar.xz" for name in TARGETS}
    suite = foreread.read_suite(CAPTURES / "suite.toml")
    boards = tuple(
        type(board)(board.board, tuple(one for one in board.cases if one.start.name == "madplay"))
        for board in suite.boards
    )
    return SimpleNamespace(
        suite=predict_suite(type(suite)(suite.path, suite.name, boards)),
        by_machine={
            (start := foreread.load(path)).capture.host.machine: foreread.predict(start)
            for path in paths.values()
        },
    )


@pytest.fixture
def bench(monkeypatch, predicted):
    stand_in = SuiteBench()
    monkeypatch.setattr(improve_suite, "check_machine", stand_in.check)
    monkeypatch.setattr(improve_suite, "record_suite", stand_in.record)
    monkeypatch.setattr(improve_suite, "predict_suite", lambda *_, **__: predicted.suite)
    monkeypatch.setattr(improve_suite, "advise_suite", stand_in.advise)
    monkeypatch.setattr(improve_suite, "confirm_suite", stand_in.confirm)
    monkeypatch.setattr(foreread.analyzer.report.make, "report", stand_in.report)
    by_machine = predicted.by_machine
    monkeypatch.setattr(Question, "predicted", lambda _, of: by_machine[of.capture.host.machine])
    return stand_in


@pytest.fixture
def product(tmp_path):
    path = tmp_path / "product.toml"
    path.write_text(SUITE)
    return path


def words(product, *options):
    return ["improve", "-o", str(product.parent / "out"), *options, "--suite", str(product)]


def document(product):
    return json.loads((product.parent / "out/improve.json").read_text())


def states(product):
    return [(one["name"], one["state"]) for one in document(product)["steps"]]


def parsed(line):
    """Parse a command line as foreread does."""
    first, *rest = shlex.split(line)
    assert first == "foreread"
    return build_parser([rest[0]]).parse_args(rest)


@pytest.mark.thorough
def test_every_start_and_every_board_has_its_steps(bench, product):
    assert main(words(product)) == 0
    steps = document(product)["steps"]
    assert [one["name"] for one in steps] == [*RECORDED, "script", "script"]
    assert {one["state"] for one in steps} == {"done"}
    targets = [f"check {target}" for target in TARGETS.values()]
    assert bench.calls == [*targets, "record", "advise", "confirm", "report", "report"]
    lines = [one["command"] for one in steps]
    args = [parsed(line) for line in lines]
    assert lines[:2] == ["foreread doctor --target ssh://root@board", "foreread doctor"]
    assert [one.suite for one in (args[2], args[5])] == [product, product]
    assert [one.capture for one in (args[3], args[4])] == [[product], [product]]
    captures = [product.parent / f"captures/{name}/madplay-1" for name in TARGETS]
    out = product.parent / "out"
    for name, capture, reported, installed in zip(
        TARGETS, captures, lines[6:8], lines[8:], strict=True
    ):
        assert reported == f"foreread report {capture} -o {out}/report/{name}/madplay"
        window = f"--read-ahead-kb {WINDOWS_KB[name]}"
        assert installed == f"foreread script {capture} {window} -o {out}/boot/{name}"
    assert all((out / path).exists() for one in steps for path in one["outputs"])


def test_the_boot_script_of_each_board_has_the_confirmed_window(bench, product, capsys):
    assert main(words(product)) == 0
    found = document(product)
    assert found["verdict"] == "confirmed"
    assert found["answer"] == "slow0 of arm64: 48 KiB, slow0 of x86_64: 96 KiB"
    assert [one["read_ahead_kb"] for one in found["disks"]] == [48, 96]
    assert {one["outcome"] for one in found["disks"]} == {"confirmed"}
    for name, kib in WINDOWS_KB.items():
        script = (product.parent / f"out/boot/{name}/foreread-apply").read_text()
        assert f" {kib}" in script
    said = capsys.readouterr()
    steps = [line.split()[1] for line in said.err.splitlines()]
    assert steps == [*RECORDED, "script", "script"]
    arm64, x86_64, undo = found["next"]
    assert arm64["what"] == "install on arm64" and x86_64["what"] == "install on x86_64"
    assert parsed(arm64["command"]).target == TARGETS["arm64"]
    assert parsed(undo["command"]).target == TARGETS["arm64"]
    assert all(one["command"] in said.out for one in found["next"])


def test_a_board_whose_runs_contradict_the_window_gets_no_script(bench, product):
    bench.outcome["arm64"] = "contradicted"
    assert main(words(product)) == 0
    found = document(product)
    assert found["verdict"] == "confirmed"
    assert found["answer"] == "slow0 of x86_64: 96 KiB"
    assert [one["outcome"] for one in found["disks"]] == ["contradicted", "confirmed"]
    assert states(product).count(("script", "done")) == 1
    assert sorted(path.name for path in (product.parent / "out/boot").iterdir()) == ["x86_64"]
    assert [one["what"] for one in found["next"]] == ["install on x86_64", "undo"]


def test_windows_that_all_runs_contradict_are_kept(bench, product):
    bench.outcome = dict.fromkeys(TARGETS, "contradicted")
    assert main(words(product)) == 0
    found = document(product)
    assert (found["verdict"], found["answer"]) == ("keep", "keep the windows that the boards have")
    assert not (product.parent / "out/boot").exists() and found["next"] == []


def test_a_dry_run_prints_a_line_for_each_step_and_makes_nothing(bench, product, run):
    lines = run(*words(product, "--dry-run")).out.splitlines()
    names = ["doctor", "doctor", "record", "predict", "advise", "confirm"]
    names += ["report", "report", "script", "script"]
    assert [line.split()[1] for line in lines] == names
    assert all(parsed(line) for line in lines)
    assert bench.calls == [] and not (product.parent / "out").exists()


def test_the_same_line_again_records_and_advises_nothing_anew(bench, product):
    assert main(words(product)) == 0
    first, bench.calls = document(product), []
    assert main(words(product)) == 0
    assert bench.calls == ["confirm"]  # which uses the results that the captures have
    again = document(product)
    assert {**again, "steps": []} == {**first, "steps": []}
    quick = {"predict", "confirm"}
    assert states(product) == [
        (one["name"], "done" if one["name"] in quick else "kept") for one in first["steps"]
    ]


def test_a_lost_board_leaves_the_reports_and_the_same_line_goes_on(bench, product, run):
    bench.fails["confirm"] = TargetError("the board does not answer", "switch it on")
    said = run(*words(product), code=1)
    assert said.err.splitlines()[-1] == "foreread: the board does not answer -- switch it on"
    assert ("confirm", "failed") in states(product)
    assert states(product).count(("report", "done")) == 2
    assert document(product)["verdict"] == "predicted"
    del bench.fails["confirm"]
    bench.calls = []
    assert main(words(product)) == 0
    assert bench.calls == ["confirm"]
    assert document(product)["verdict"] == "confirmed"


def test_a_board_that_cannot_be_recorded_ends_the_steps_that_need_one(bench, product, run):
    bench.fails["check local"] = TargetError("recording does not work", "foreread doctor")
    assert run(*words(product), code=1).out == "unknown: there is no answer yet\n"
    assert states(product) == [("check", "done"), ("check", "failed")]
    assert bench.calls == ["check ssh://root@board"]


def test_ctrl_c_in_a_recording_is_an_interrupted_step(bench, product):
    bench.ended_by = "signal"
    with pytest.raises(KeyboardInterrupt):
        improve(None, product.parent / "out", suite=product)  # the command line would end pytest
    assert states(product)[-1] == ("record", "interrupted")
    bench.ended_by = "exit"
    assert main(words(product)) == 0
    assert bench.calls.count("record") == 1
    assert ("record", "kept") in states(product)
