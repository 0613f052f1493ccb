"""predict(): from a recording to curves, by disk and in total."""

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from capture_builder import capture_of, host_of, recording_of
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.window import WindowError, predict
from foreread.emulator import MAX_WINDOW
from foreread.emulator.reference import fixed_window as reference
from foreread.tracer.formats.capture import Capture, Device

PARTITION, DISK, OTHER = 8 << 20 | 1, 8 << 20, 179 << 20
PAGE = 4096


def record(
    accesses: list[tuple[int, int]],
    files: list[tuple[int, int]],
    page_size: int = PAGE,
    **changes: Any,
) -> Recording:
    """Make a recording of (file row, page) accesses and (dev, size in bytes) files."""
    recording = recording_of(
        accesses,
        [size for _, size in files],
        page_size=page_size,
        devices={PARTITION: DISK},
        **changes,
    )
    recording.files["dev"][:] = [dev for dev, _ in files]
    return recording


def captured(*devices: Device, lost: dict[str, int] | None = None) -> Capture:
    return capture_of(
        host=host_of(kernel="6.1.0", cpu_count=1),
        pid=1,
        end_ns=1,
        lost=lost or {},
        devices=list(devices),
        mounts=[],
    )


def disk(dev: str, name: str, current: int, **queue: str) -> Device:
    return Device(
        dev=dev,
        name=name,
        filesystems=[],
        size_bytes=1 << 30,
        read_ahead_kb_before=current,
        read_ahead_kb=0,
        queue=queue,
    )


def sequential(row: int, pages: int) -> list[tuple[int, int]]:
    return [(row, page) for page in range(pages)]


def test_sequential_file_by_hand() -> None:
    """Ten pages in order: windows 0, 1, 4, 9 need 10, 5, 2, 1 requests and waste nothing."""
    curve = predict(record(sequential(0, 10), [(DISK, 10 * PAGE)]), [9, 4, 0, 1, 4]).total
    assert curve.windows == [0, 1, 4, 9]
    assert curve.read_ahead_kb == [0, 4, 16, 36]
    assert curve.f == [10, 5, 2, 1]
    assert curve.g == curve.g_formula == [0, 0, 0, 0]
    assert curve.pages == [10, 10, 10, 10]
    assert curve.c_opt == [100, 25, 4, 1]
    assert (curve.quasi_optimal, curve.iterated, curve.turning_points) == (9, 9, 1)
    assert curve.pareto == [9]
    assert curve.seconds is None
    assert curve.predicted_best is None


def test_end_of_file_clips_pages_but_not_the_formula() -> None:
    """Pages 0 and 8 of a file of 8 pages and one byte; w = 3 loads 4 and 1 pages."""
    curve = predict(record([(0, 0), (0, 8)], [(DISK, 8 * PAGE + 1)]), [3]).total
    assert (curve.f, curve.pages, curve.g, curve.g_formula) == ([2], [5], [3], [6])


def test_paper_limits() -> None:
    """Section 2.3: Rws = 0 gives F = Tap, G = 0; a window over all gives one request a file."""
    accesses = [(0, 7), (1, 0), (0, 0), (0, 3), (1, 9)]
    total = predict(record(accesses, [(DISK, -1), (DISK, -1)]), [0, 1000]).total
    assert (total.f[0], total.g[0], total.g_formula[0]) == (5, 0, 0)
    assert total.f[1] == 3  # page 7 of file 0 came before page 0
    assert predict(record(sorted(accesses), [(DISK, -1)] * 2), [1000]).total.f == [2]


def test_partitions_count_for_their_disk() -> None:
    files = [(PARTITION, PAGE * 9), (OTHER, PAGE * 9), (DISK, PAGE * 9)]
    accesses = [*sequential(0, 3), (1, 5), *sequential(2, 2)]
    capture = captured(disk("8:0", "sda", 128), disk("179:0", "mmcblk0", 64))
    prediction = predict(record(accesses, files, capture=capture))
    assert [(c.dev, c.name, c.tap) for c in prediction.devices] == [
        ("8:0", "sda", 5),
        ("179:0", "mmcblk0", 1),
    ]
    assert [c.current_read_ahead_kb for c in prediction.devices] == [128, 64]
    assert prediction.total.current_read_ahead_kb == 128
    assert prediction.total.name == "total"


def test_a_larger_window_in_force_on_the_main_disk_is_predicted_too() -> None:
    files = [(DISK, PAGE * 9000), (OTHER, PAGE * 9)]
    capture = captured(disk("8:0", "sda", 8192), disk("179:0", "mmcblk0", 16384))
    recording = record([*sequential(0, 9000), (1, 5)], files, capture=capture)
    total = predict(recording).total
    assert total.windows == [*range(1024), 2048]
    assert (total.read_ahead_kb[-1], total.f[-1]) == (8192, 6)  # ⌈9000 / 2049⌉, and the other file
    assert predict(recording, [0, 16]).total.windows == [0, 16]


def test_without_a_capture_disks_go_by_number() -> None:
    [curve] = predict(record([(0, 1)], [(PARTITION, -1)])).devices
    assert (curve.dev, curve.name, curve.current_read_ahead_kb) == ("8:0", "8:0", None)


@given(
    accesses=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30)), max_size=60),
    devs=st.lists(st.sampled_from([PARTITION, DISK, OTHER]), min_size=5, max_size=5),
)
def test_total_is_the_sum_and_equals_the_reference(
    accesses: list[tuple[int, int]], devs: list[int]
) -> None:
    windows = [0, 1, 2, 8]
    prediction = predict(record(accesses, [(dev, 20 * PAGE) for dev in devs]), windows)
    total = prediction.total
    for at, window in enumerate(windows):
        expected = reference.fixed_window_at(accesses, [20] * 5, window)
        assert (total.f[at], total.pages[at]) == expected
        assert sum(c.f[at] for c in prediction.devices) == expected[0]
        assert sum(c.pages[at] for c in prediction.devices) == expected[1]
    assert total.tap == len(set(accesses)) == sum(c.tap for c in prediction.devices)


def test_large_pages_step_in_whole_pages() -> None:
    curve = predict(record([(0, 0)], [(DISK, 65536)], page_size=65536), [0, 1, 2]).total
    assert curve.read_ahead_kb == [0, 64, 128]
    assert curve.pages == [1, 1, 1]


def test_largest_file_size_does_not_overflow() -> None:
    curve = predict(record([(0, 0)], [(DISK, 2**63 - 1)]), [5]).total
    assert curve.pages == [6]


def test_nothing_accessed() -> None:
    prediction = predict(record([], []))
    assert prediction.devices == []
    assert prediction.total.tap == 0
    assert prediction.total.windows == list(range(1024))
    assert prediction.verdict.action == "none"
    json.loads(prediction.to_json())


def test_files_without_accesses_make_no_device() -> None:
    assert predict(record([], [(DISK, PAGE)])).devices == []


def test_document_holds_plain_numbers() -> None:
    recording = record([(0, 0), (1, 4)], [(DISK, PAGE), (OTHER, -1)])
    document = json.loads(predict(recording, [0, 3]).to_json())
    assert document["model"] == "fixed"


@pytest.mark.parametrize("windows", [[], [-1, 4], [0, MAX_WINDOW + 1], [2**70]])
def test_windows_out_of_range(windows: list[int]) -> None:
    with pytest.raises(WindowError) as caught:
        predict(record([(0, 0)], [(DISK, PAGE)]), windows)
    assert caught.value.remedy


def test_notes_list_unknown_facts() -> None:
    recording = record([(0, 0), (1, 0)], [(DISK, -1), (DISK, PAGE), (DISK, -1)])
    notes = predict(replace(recording, notes=("from ingest",)), [0, 1]).notes
    assert notes[0] == "from ingest"
    assert any(note.startswith("1 accessed file") for note in notes)
    assert any("from 2 given windows" in note for note in notes)


def test_no_note_without_a_reason() -> None:
    """Pages too far apart for any window: C_opt only rises."""
    scattered = [(0, 5000 * i) for i in range(5)]
    assert predict(record(scattered, [(DISK, 5 * 5000 * PAGE)])).ordered_notes == ()


def test_several_minima_are_said() -> None:
    """Runs of 2 and of 16 pages: C_opt falls, rises, and falls again."""
    accesses = [(0, 1000 * i + p) for i in range(8) for p in range(2)]
    accesses += [(1, 1000 * i + p) for i in range(3) for p in range(16)]
    prediction = predict(record(accesses, [(DISK, -1), (DISK, -1)]))
    assert prediction.total.turning_points > 1
    assert any("local minima" in note for note in prediction.ordered_notes)


def test_split_requests_are_said() -> None:
    capture = captured(disk("8:0", "sda", 128, max_sectors_kb="64"))
    recording = record(sequential(0, 64), [(DISK, 64 * PAGE)], capture=capture)
    assert any("above 64 KiB" in note for note in predict(recording).notes)
    assert not any("above" in note for note in predict(recording, [0, 15]).notes)


def test_contamination_and_losses_are_doubts_beside_the_verdict() -> None:
    recording = record(sequential(0, 64), [(DISK, 64 * PAGE)], contaminated=True)
    lossy = replace(recording, trace=replace(recording.trace, lost={0: 3, 1: 4}))
    assert any("7 events were lost" in doubt for doubt in predict(lossy).doubts)
    assert any("readahead was on" in doubt for doubt in predict(recording).doubts)
    by_recorder = replace(recording, capture=captured(lost={"0": 9}))
    assert any("9 events were lost" in doubt for doubt in predict(by_recorder).doubts)


def test_predict_imports_nothing_heavy() -> None:
    code = "import sys, foreread.analyzer.predict.window; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(run.stdout.split())
    assert "numpy" in loaded
    assert not loaded & {"matplotlib", "jinja2", "scipy", "pandas"}


def test_disks_with_different_windows_are_named() -> None:
    run = record([(0, 0), (0, 1), (1, 0)], [(DISK, PAGE * 4), (OTHER, PAGE * 4)])
    disks = disk("8:0", "sda", 128), disk("179:0", "mmcblk0", 512)
    notes = predict(replace(run, capture=captured(*disks))).notes
    assert any("sda 128 KiB, mmcblk0 512 KiB" in note for note in notes)
    alike = replace(run, capture=captured(disks[0], disk("179:0", "mmcblk0", 128)))
    assert not any("different windows" in note for note in predict(alike).notes)
