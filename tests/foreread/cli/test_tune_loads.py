"""``foreread tune`` beside a load that does not run, or ends."""

import pytest
from trial_benches import KnownBench

from foreread.analyzer.tuner.findings.results import read_results
from foreread.cli.main import main
from foreread.tracer.error import RecordError
from foreread.tracer.trials.trial import Outcome
from foreread.tuning import campaign as tuning

ENDED = ("the reader of the scenario ended: cat: /film: No such file", "see that it is there")


class Loaded(KnownBench):
    """The load cannot run from trial ``gone`` on; it ends during the trials ``ends``."""

    def __init__(self, gone=10**6, ends=()):
        super().__init__()
        self._gone, self._ends = gone, ends

    def check_load(self, scenario):
        super().check_load(scenario)
        if len(self.trials) >= self._gone:
            raise RecordError(*ENDED)

    def run(self, trial):
        found = super().run(trial)
        if trial.scenario.kind == "idle":
            return found
        if len(self.trials) > self._gone:
            raise RecordError(*ENDED)
        if len(self.trials) == self._gone or len(self.trials) in self._ends:
            return Outcome("failed", notes=ENDED[:1], unloaded=ENDED)
        return found


@pytest.fixture
def tuned(tmp_path, monkeypatch, capsys):
    """Return a function that tunes beside a reader, and returns the code and what was said."""

    def tuned(bench, *more):
        monkeypatch.setattr(tuning, "open_bench", bench.open)
        words = ["tune", "-o", str(tmp_path / "app.tuning"), "--genes", "scheduler,swappiness=0:60"]
        scenarios = ["--scenario", "idle", "--scenario", "reader:/film"]
        code = main([*words, *scenarios, *more, "--", "true"])
        return code, capsys.readouterr().err

    return tuned


def test_every_load_is_tried_before_the_first_run(tuned, tmp_path):
    bench = Loaded(gone=0)
    code, said = tuned(bench)
    assert (code, bench.trials) == (1, [])
    assert ENDED[0] in said
    assert ENDED[1] in said
    assert not (tmp_path / "app.tuning").exists()


def test_a_load_that_ends_for_good_ends_the_campaign(tuned, tmp_path):
    code, said = tuned(Loaded(gone=12))
    assert code == 1
    assert ENDED[0] in said
    assert "repeat the command line with --resume" in said
    assert len(read_results(tmp_path / "app.tuning").search) < 12
    assert tuned(Loaded(), "--resume")[0] == 0
    assert {one.attempt.status for one in read_results(tmp_path / "app.tuning").search} == {"ok"}


def test_settings_under_which_a_load_ends_have_a_failed_run(tuned, tmp_path):
    bench = Loaded(ends=(12,))
    assert tuned(bench)[0] == 0
    (failed,) = [
        one.attempt
        for one in read_results(tmp_path / "app.tuning").search
        if one.attempt.status != "ok"
    ]
    assert failed.status == "failed"
    assert ENDED[0] in failed.notes
    assert [scenario.text for scenario in bench.tried] == ["reader:/film", "reader:/film"]
