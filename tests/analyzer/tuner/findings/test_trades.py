"""What settings trade for what: the front over time, writes and waiting, ordered by weights."""

import pytest
import tuning

from foreread.analyzer.report.blocks import Paragraph, Table
from foreread.analyzer.report.tuning_genes import disagreement
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.campaign.feasibility import CONSTRAINTS, ExcessLimits
from foreread.analyzer.tuner.engines.recipe import load_recipe
from foreread.analyzer.tuner.evaluation import Attempt
from foreread.analyzer.tuner.findings.document import document
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.findings.trades import trades
from foreread.analyzer.tuner.store.records import Evaluation
from foreread.cli.text.trades import trades_text

WEAR, MEMORY = CONSTRAINTS
DEFAULT, BEST = tuning.SPACE.default(), tuning.BEST
SLOW = {**BEST, "window": 4}
QUICK = {**BEST, "window": 64}


def results(figures, scenarios=("idle", "reader"), limits=None, **weights):
    """Return a search of three runs of (chromosome, {scenario: (seconds, sectors, waiting)})."""
    allowed = limits or ExcessLimits(wear=None, memory=None)
    setup = CampaignSetup(load_recipe("start-up"), tuning.SPACE, limits=allowed, weights=weights)
    spec = tuning.spec(scenarios=scenarios, space=setup.space_text, recipe=setup.recipe_text)
    made = []
    for chromosome, by_scenario in figures:
        for scenario, (seconds, *counted) in by_scenario.items():
            names = (WEAR.counter, MEMORY.counter)
            metrics = dict(zip(names, map(float, counted), strict=False))
            for repeat in range(3):
                attempt = Attempt("ok", seconds * (1 + repeat / 1000), metrics)
                made.append((chromosome, scenario, repeat, attempt))
    return Results(
        spec,
        "finished",
        [Evaluation(n, c, s, r, 0, a, 1.0, 2.0) for n, (c, s, r, a) in enumerate(made, 1)],
        [],
        [],
    )


def both(idle, reader):
    return {"idle": idle, "reader": reader}


PLAIN = [
    (DEFAULT, both((2.0, 1000, 0), (8.0, 1000, 0))),
    (BEST, both((1.0, 9000, 0), (4.0, 1000, 0))),  # fast, and writes
    (QUICK, both((1.5, 1000, 0), (5.0, 1000, 0))),  # less fast, and does not
    (SLOW, both((1.6, 1100, 0), (5.0, 1000, 0))),  # QUICK beats it: 100 sectors are chance
]


def test_fewer_writes_are_an_aim_of_their_own():
    found = trades(results(PLAIN))
    assert [one.chromosome for one in found.front] == [BEST, QUICK]
    assert [(aim.scenario, aim.counter) for aim in found.aims] == [
        (scenario, counter) for scenario in ("idle", "reader") for counter in (None, WEAR, MEMORY)
    ]
    assert found.front[0].values == pytest.approx((1.001, 9000, 0, 4.004, 1000, 0))
    assert [(aim.scenario, aim.counter) for aim in found.paid] == [("idle", WEAR)]


def test_the_weights_choose_the_first_of_the_front():
    opposed = [
        (DEFAULT, both((2.0, 0, 0), (8.0, 0, 0))),
        (BEST, both((1.0, 0, 0), (7.0, 0, 0))),
        (QUICK, both((1.9, 0, 0), (5.0, 0, 0))),
    ]
    for weights, first in (({}, BEST), ({"reader": 3}, QUICK)):
        found = trades(results(opposed, **weights))
        assert found.front[0].chromosome == first and len(found.front) == 2 and not found.paid


def test_what_violates_a_constraint_is_not_on_the_front():
    found = trades(results(PLAIN, limits=ExcessLimits(wear=0.1)))
    assert [one.chromosome for one in found.front] == [QUICK] and not found.paid


def test_the_writers_own_writes_are_not_an_aim():
    """A faster start leaves its load less time to write; a slower one is not frugal."""
    named = [(c, {"writer:/tmp": one["idle"], "idle": one["reader"]}) for c, one in PLAIN]
    found = trades(results(named, ("writer:/tmp", "idle")))
    assert [one.chromosome for one in found.front] == [BEST]
    counted = [aim.counter for aim in found.aims if aim.scenario == "writer:/tmp"]
    assert counted == [None, MEMORY]


def test_counters_that_some_runs_lack_are_not_an_aim():
    lacking = [(c, both(one["idle"][:2], one["reader"][:1])) for c, one in PLAIN]
    found = trades(results(lacking))
    assert [aim.counter for aim in found.aims] == [None, WEAR, None]
    assert [one.chromosome for one in found.front] == [BEST, QUICK]


def test_before_the_default_was_run_there_is_no_front():
    found = trades(results([]))
    assert found.front == () and found.paid == ()


def test_report_text_and_document_have_the_front():
    made = results(PLAIN, reader=3)
    paragraph, *_ = [b for b in disagreement(made).blocks if isinstance(b, Paragraph)]
    assert "more sectors written than the default in idle" in paragraph.text
    assert "idle=1, reader=3" in paragraph.text
    table = next(b for b in disagreement(made).blocks if isinstance(b, Table))
    assert "9,000 sectors written" in table.rows[0][0] and "window 32" in table.rows[0][-1]
    (text,) = trades_text(made)
    assert "idle=1, reader=3" in text and "idle: sectors" in text and "9,000" in text
    said = document(made)
    assert said.weights == {"idle": 1.0, "reader": 3.0}
    assert [one.chromosome for one in said.front] == [BEST, QUICK]
    assert said.front[0].aims[0].counters == {"wear": 9000.0, "memory": 0.0}


def test_without_a_trade_nothing_is_printed():
    alike = [(c, both(one["reader"], one["reader"])) for c, one in PLAIN]
    assert trades_text(results(alike)) == [] and not disagreement(results(alike)).blocks
