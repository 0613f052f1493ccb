"""The rows of a capture in the store, and their columns."""

from capture_builder import capture_of
from fleet_captures import LARGE

import foreread
from foreread.analyzer.fleet.rows import COLUMNS, analysed_rows, error_row
from foreread.tracer.formats.confirmation import Confirmation


def proof(created, outcome, **changes):
    base = {
        "kernel": "6.12",
        "machine": "x86_64",
        "disks": [],
        "present_kb": 128,
        "proposed_kb": 32,
        "gain": 0.1,
    }
    return Confirmation(created=created, outcome=outcome, **{**base, **changes})


def test_rows_have_known_columns_only():
    start = foreread.load(LARGE)
    found = analysed_rows(start, foreread.predict(start))
    known = {one.name for one in COLUMNS}
    assert all(set(row) <= known for row in (*found.rows, *error_row("x", "y").rows))


def test_a_window_now_beyond_the_predicted_ones_has_seconds():
    """The shipped capture had 2,560 KiB; one of 4 MiB is not among the windows of a curve."""
    start = foreread.load(LARGE)
    prediction = foreread.predict(start)
    summary = analysed_rows(start, prediction).rows[0]
    assert summary["now_kb"] == 2560
    assert summary["gain"] == 1 - summary["seconds_proposed"] / summary["seconds_now"]


def test_the_newest_proof_of_a_window_alone_counts():
    from foreread.analyzer.fleet.rows import _confirmed

    proofs = [
        proof("2026-03-01", "confirmed", change="a list"),
        proof("2026-01-01", "confirmed"),
        proof("2026-02-01", "contradicted", proposed_kb=64, gain=-0.2),
    ]
    assert _confirmed(capture_of(confirmations=proofs).confirmations) == {
        "confirmation": "contradicted",
        "confirmed_kb": 64,
        "confirmed_gain": -0.2,
    }
    assert _confirmed([]) == {}


def test_hostile_text_is_short_and_printable():
    (row,) = error_row("\x1b[31m\udc80" + "x" * 10_000, "\n").rows
    assert row["error"].startswith("\\x1b[31m\\x80")
    assert len(row["error"]) == 2000
    assert row["remedy"] == "\\n"
