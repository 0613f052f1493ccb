"""Starts on storage parts: the seconds of predict, break-even, limits, parts that do not fit."""

from pathlib import Path

import pytest
from rings import further

import foreread
from foreread.analyzer.advise.parts import NamedStart, on_parts
from foreread.analyzer.predict.disk.device_model import DeviceModelError, StoragePart
from foreread.analyzer.predict.disk.parts import MOST, library, parts_named
from foreread.boards.cost import FixedCost
from foreread.boards.disks import costly_kinds
from foreread.boards.parts import published_parts
from foreread.boards.profile import ProfileError, builtin_names

DATA = Path(__file__).parents[2] / "foreread/data/suite"
MADPLAY = DATA / "x86_64-madplay-1.capture.tar.xz"
NAMES = ("nvme", "emmc", "network", "rotating", "throttled")
# Faster than rotating with the window now, and not with rotating's own.
BETWEEN = StoragePart(
    "between", "", FixedCost(obtained="assumed", latency_us=1600, ns_per_kib=80_000)
)
SLOW_START = 0.3  # seconds; between those of the parts, which a test checks


@pytest.fixture(scope="module")
def recording():
    return foreread.load(MADPLAY)


@pytest.fixture(scope="module")
def document(recording):
    parts = [*parts_named(NAMES), BETWEEN]
    return on_parts([NamedStart("madplay", [recording])], parts, within=SLOW_START)


@pytest.fixture(scope="module")
def rows(document):
    (start,) = document.starts
    return {row.part: row for row in start.rows}


@pytest.mark.parametrize("name", further([None, "emmc", "network"]))
def test_a_part_has_the_seconds_that_predict_has_with_its_device_model(recording, rows, name):
    prediction = foreread.predict(recording, device_model=name)
    total, verdict = prediction.total, prediction.verdict
    row = rows[name]
    kib = total.read_ahead_kb
    now, then = kib.index(prediction.reference.kb), kib.index(verdict.read_ahead_kb)
    assert row.read_ahead_kb == verdict.read_ahead_kb
    assert (row.seconds_now, row.seconds) == (total.seconds[now], total.seconds[then])
    assert (row.seconds_now_low, row.seconds_low) == (
        total.seconds_low[now],
        total.seconds_low[then],
    )
    assert (row.seconds_now_high, row.seconds_high) == (
        total.seconds_high[now],
        total.seconds_high[then],
    )
    assert row.saved == pytest.approx(total.seconds[now] - total.seconds[then])
    assert row.doubts == list(prediction.doubts)


def test_rows_are_by_seconds_and_a_part_that_does_not_fit_is_last_with_the_reason(document):
    (start,) = document.starts
    *timed, refused = start.rows
    assert refused.part == "throttled"
    assert "4,096 KiB at full speed" in refused.why
    assert refused.seconds is refused.seconds_now is refused.within is None
    assert [row.seconds for row in timed] == sorted(row.seconds for row in timed)
    assert len(timed) == len(NAMES) + 1  # with BETWEEN and the recorded disk, without throttled


def test_the_next_part_is_the_slowest_of_the_faster_ones_at_the_window_now(rows):
    by_now = sorted(
        (row for row in rows.values() if row.seconds is not None), key=lambda row: -row.seconds_now
    )
    names = [row.part for row in by_now]
    assert names == ["rotating", BETWEEN.name, "network", None, "emmc", "nvme"]
    assert [row.next_part for row in by_now] == [
        BETWEEN.name,
        "network",
        "emmc",
        "emmc",
        "nvme",
        None,
    ]
    for row in by_now[:-1]:
        gap = row.seconds_now - rows[row.next_part].seconds_now
        assert row.of_next == pytest.approx(row.saved / gap)


def test_a_window_makes_a_slow_part_as_fast_as_a_faster_one_that_keeps_the_window_now(rows):
    rotating, between = rows["rotating"], rows[BETWEEN.name]
    assert rotating.seconds <= between.seconds_now < rotating.seconds_now
    assert rotating.seconds > rows["network"].seconds_now
    assert rotating.as_fast_as == BETWEEN.name
    assert rotating.of_next > 1
    assert rows["emmc"].as_fast_as is None
    assert 0 < rows["emmc"].of_next < 1


def test_the_limit_is_for_the_upper_bound_and_names_the_slowest_part_within(document, rows):
    found = {row.within for row in rows.values()}
    assert {"now", "no", None} <= found
    for row in rows.values():
        if row.within is not None:
            within = row.seconds_now_high <= SLOW_START, row.seconds_high <= SLOW_START
            expected = "now" if within[0] else "window" if within[1] else "no"
            assert row.within == expected
    fits = {row.seconds: name for name, row in rows.items() if row.within in ("now", "window")}
    named = {seconds: name for seconds, name in fits.items() if name is not None}
    assert document.slowest_within == named[max(named)]


def test_each_part_of_the_library_has_a_source_and_a_cost_of_its_own():
    parts = library()
    assert all(part.source for part in parts)
    devices = [part.device for part in parts]
    assert all(device not in devices[:row] for row, device in enumerate(devices))
    assert {*costly_kinds(), *published_parts()} < {part.name for part in parts}


def test_no_kind_of_disk_has_the_name_of_a_board():
    assert not set(costly_kinds()) & set(builtin_names())


def test_a_kind_of_disk_is_a_device_model():
    for name, kind in costly_kinds().items():
        (part,) = parts_named([name, name])
        assert part.cost == kind.own_cost()


def test_a_published_part_is_a_device_model_with_its_source():
    name, published = next(iter(published_parts().items()))
    (part,) = parts_named([name])
    assert (part.cost, part.cost.obtained) == (published.cost(), "published")
    assert part.source == f"{published.title}: {published.source}"


def test_a_part_s_source_is_that_of_its_figures(tmp_path):
    file = tmp_path / "card.toml"
    file.write_text('kind = "fixed"\nsource = "a card"\nlatency_us = 100\nns_per_kib = 2000\n')
    (part,) = parts_named([str(file)])
    assert (part.name, part.source, part.cost.obtained) == (str(file), "a card", "assumed")


def test_an_unknown_part_is_refused_with_the_list():
    with pytest.raises(
        DeviceModelError, match="no file and no storage part is called 'nvm'"
    ) as refused:
        parts_named(["emmc", "nvm"])
    assert all(name in refused.value.remedy for name in (*costly_kinds(), *published_parts()))


def test_a_board_without_a_known_cost_is_refused():
    with pytest.raises(ProfileError, match="0 storage devices with a known cost"):
        parts_named(["raspberry-pi-4-sd"])


def test_the_number_of_parts_is_limited(tmp_path):
    names = []
    for number in range(MOST + 1):
        file = tmp_path / f"{number}.toml"
        file.write_text('kind = "fixed"\nlatency_us = 1\nns_per_kib = 1\n')
        names.append(str(file))
    assert len(parts_named(names[:MOST])) == MOST
    with pytest.raises(DeviceModelError, match="too many"):
        parts_named(names)
