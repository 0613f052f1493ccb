"""What an outdated list loses, on cases worked out by hand: 1,000 ns a request, 100 ns a KiB."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from advice_starts import PAGE, reading

from foreread.analyzer.advise.situation import Situation
from foreread.analyzer.advise.stale import Checked, staleness
from foreread.analyzer.prefetch import Listing, Range
from foreread.analyzer.prefetch.state import state_of

LISTING = Listing((Range("/lib/file0", 0, 3 * PAGE),))


@dataclass(frozen=True)
class Predicted:
    page_size: int = PAGE
    notes: tuple[str, ...] = field(default=())


@pytest.fixture
def root(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/file0").write_bytes(b"".join(bytes([65 + at]) * PAGE for at in range(64)))
    return tmp_path


def checked(root, state, limit=10.0):
    variant = reading([0, 1, 2])
    situation = Situation(Predicted(), (variant,), (variant,), None, 0, 0)
    return staleness(situation, Checked(Path("the.list"), LISTING, state), root, limit)


def test_a_true_list_loses_nothing(root):
    found = checked(root, state_of(root, LISTING, PAGE))
    assert (found.pages, found.stale_pages, found.lost_percent) == (3, 0, 0)
    assert (found.without, found.fresh) == pytest.approx((4260e-9, 2250e-9))
    assert found.passed


def test_stale_pages_are_read_by_the_list_for_nothing_and_by_the_start_itself(root):
    state = state_of(root, LISTING, PAGE)
    content = bytearray((root / "lib/file0").read_bytes())
    content[PAGE] ^= 1
    (root / "lib/file0").write_bytes(content)
    found = checked(root, state)
    assert [(one.path, one.same, one.changed) for one in found.files] == [("/lib/file0", 2, 1)]
    assert found.fresh < found.stale
    assert found.lost_percent > 10
    assert not found.passed
    assert checked(root, state, limit=1000.0).passed


def test_missing_files_are_not_read_for_nothing(root):
    state = state_of(root, LISTING, PAGE)
    (root / "lib/file0").unlink()
    found = checked(root, state)
    assert found.files[0].missing == 3
    assert found.stale == pytest.approx(found.without)
    assert found.lost_percent == pytest.approx(100)


def test_without_a_state_a_note_says_what_was_not_compared(root):
    found = checked(root, None)
    assert found.unknown_pages == 3
    assert any("has no state file" in note for note in found.notes)


def test_reads_for_nothing_delay_the_start():
    variant = reading([0, 1, 2])
    listed = replace(variant, ranges=((0, 0, 1),))
    wasted = replace(listed, wasted=((80000, 8),))
    assert wasted.cost().seconds >= listed.cost().seconds
    alone = replace(variant, wasted=((80000, 800),))
    assert alone.cost().seconds > variant.cost().seconds
