"""The section of window against list: what stands in it, and what is left out."""

from __future__ import annotations

from foreread.analyzer.prefetch import CASES, Case, Comparison, Found, Listing, Range
from foreread.analyzer.prefetch.measured import Listed, MeasuredCase, Measurement
from foreread.analyzer.report.prefetch import prefetch

MIB = 1 << 20
LISTING = Listing((Range("/a", 0, MIB), Range("/b", 0, MIB)))
SECONDS = (4.0, 3.0, 2.5, 2.0)


def comparison(seconds=SECONDS, unnamed=0):
    found = Found(LISTING, ((0, 0, 256), (1, 0, 256)), 16384, 2 * MIB - 8192, unnamed)
    cases = [
        Case(name, (128, 32)[at % 2], 100 * at, MIB * at, 4096 * at, seconds[at])
        for at, name in enumerate(CASES)
    ]
    return Comparison(found, tuple(cases), ("a note",))


def measurement(kb=(128, 32, 128, 32), command=("app",)):
    cases = [
        MeasuredCase(
            name=name,
            read_ahead_kb=kb[at],
            seconds=[5.0 + at, 9.0, 1.0],
            requests=[1, 1, 1],
            read_bytes=[1, 1, 1],
        )
        for at, name in enumerate(CASES)
    ]
    return Measurement(command=list(command), cases=cases)


def blocks(listed, command=("app",)):
    section = prefetch(listed, list(command))
    return {block.kind: block for block in section.blocks}


def test_predicted_alone():
    found = blocks(Listed(comparison()))
    assert "2 ranges of 2 files, 2 MiB" in found["paragraph"].text
    assert "gaps of up to 16 KiB, in sum 8 KiB" in found["paragraph"].text
    assert [row[:3] for row in found["table"].rows] == [
        ["as it was", "128 KiB", "4.00 s"],
        ["proposed window", "32 KiB", "3.00 s"],
        ["list", "128 KiB", "2.50 s"],
        ["list and proposed window", "32 KiB", "2.00 s"],
    ]
    assert found["table"].marked == {3}
    assert {len(row) for row in found["table"].rows} == {len(found["table"].columns)}
    assert found["bullets"].items == ["a note"]


def test_measured_beside_predicted():
    found = blocks(Listed(comparison(), measurement()))
    assert found["table"].rows[0][2:6] == ["4.00 s", "5.00 s", "1.00 s", "9.00 s"]
    assert found["table"].marked == {0}
    assert {len(row) for row in found["table"].rows} == {len(found["table"].columns)}
    assert "medians of 3 cold runs" in found["bullets"].items[1]


def test_mismatched_inputs_are_reported():
    other = measurement(kb=(128, 64, 128, 64), command=("other",))
    items = blocks(Listed(comparison(unnamed=8192), other))["bullets"].items
    assert any("paths are unknown: 8 KiB" in item for item in items)
    assert any("a command other" in item for item in items)
    assert any("other windows: 128 KiB, 64 KiB" in item for item in items)


def test_no_section_without_a_list_and_no_seconds_without_a_device():
    assert not prefetch(None, None).blocks
    found = blocks(Listed(comparison(seconds=(None,) * 4)))
    assert [row[2] for row in found["table"].rows] == ["–"] * 4
    assert found["table"].marked == frozenset()
