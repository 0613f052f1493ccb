"""How slow the processor computes after a wait, from made-up rounds of a probe."""

from __future__ import annotations

import numpy as np
import pytest

from foreread.analyzer.program.cold import cold_samples, fitted
from foreread.tracer.formats.disk_probe import Computing, ComputingRound

PIECES, ROUNDS = 32, 32
PIECE_NS = 10_000
KINDS = ["source", "text"] * (PIECES // 2)


def round_of(first, share_of, cold_ns):
    """Pieces of 10 µs: within ``cold_ns`` after the wait they are slower by their kind's share."""
    kinds = [KINDS[(first + row) % PIECES] for row in range(PIECES)]
    begins = [PIECE_NS * row for row in range(PIECES)]
    slow = [min(max(cold_ns - begin, 0), PIECE_NS) for begin in begins]
    more = [round(ns * share_of[kind]) for ns, kind in zip(slow, kinds, strict=True)]
    return ComputingRound(
        first=first, warm_ns=[PIECE_NS] * PIECES, cold_ns=[PIECE_NS + ns for ns in more]
    )


def probed(share_of, cold_ns=80_000):
    rounds = [round_of(row * 13 % PIECES, share_of, cold_ns) for row in range(ROUNDS)]
    return Computing(kinds=KINDS, rounds=rounds)


@pytest.mark.parametrize(("cold_ns", "share"), [(20_000, 1.5), (100_000, 0.4), (500_000, 0.05)])
def test_the_fit_finds_what_the_lengths_were_computed_with(cold_ns, share):
    lengths = np.geomspace(5_000, 640_000, 12)
    assert fitted(lengths, np.minimum(lengths, cold_ns) * share) == pytest.approx(
        (cold_ns, share), rel=0.05
    )


def test_computing_that_takes_no_longer_after_a_wait_has_no_share():
    lengths = np.geomspace(5_000, 640_000, 12)
    assert fitted(lengths, np.zeros(12))[1] == 0.0
    assert fitted(lengths, np.full(12, -500.0))[1] == 0.0


def test_rounds_of_a_probe_show_how_long_the_caches_are_cold():
    found = cold_samples(probed({"source": 0.5, "text": 0.5}))
    assert found is not None
    assert found.cost() == pytest.approx((80_000, 0.5), rel=0.1)


def test_a_draw_is_like_the_computing_of_one_kind():
    """Half of the pieces take 60 % longer, half 20 %: a start may be like either."""
    found = cold_samples(probed({"source": 0.6, "text": 0.2}))
    assert found is not None
    assert found.cost()[1] == pytest.approx(0.4, rel=0.1)
    rng = np.random.default_rng(1)
    shares = [found.cost(rng)[1] for _ in range(40)]
    near = [min(abs(share - kind) for kind in (0.2, 0.6)) for share in shares]
    assert max(near) < 0.08
    assert {round(share, 1) > 0.4 for share in shares} == {True, False}


def test_without_a_probe_or_with_a_clock_that_is_too_coarse_nothing_is_known():
    assert cold_samples(None) is None
    coarse = ComputingRound(first=0, warm_ns=[0, 4_000_000], cold_ns=[0, 4_000_000])
    assert cold_samples(Computing(kinds=["a", "b"], rounds=[coarse])) is None


def test_a_probe_that_was_disturbed_shows_nothing():
    """Computing would be 20 times as slow; or slow for ten seconds."""
    assert cold_samples(probed({"source": 19.0, "text": 19.0})) is None
    long = [10**9] * 10
    rounds = [ComputingRound(first=0, warm_ns=long, cold_ns=[2 * ns for ns in long])]
    assert cold_samples(Computing(kinds=["any"] * 10, rounds=rounds)) is None


def test_a_round_in_which_others_ran_does_not_change_the_fit():
    quiet = probed({"source": 0.5, "text": 0.5})
    late = round_of(0, {"source": 9.0, "text": 9.0}, 80_000)
    disturbed = Computing(kinds=KINDS, rounds=[late, late, *quiet.rounds])
    found = [cold_samples(each) for each in (quiet, disturbed)]
    assert found[0] is not None and found[1] is not None
    assert found[1].cost() == pytest.approx(found[0].cost(), rel=0.05)


def test_a_processor_without_caches_is_known_to_be_as_fast_after_a_wait():
    found = cold_samples(probed({"source": 0.0, "text": 0.0}))
    assert found is not None
    assert found.cost()[1] == 0.0
    assert found.cost(np.random.default_rng(1))[1] == 0.0
