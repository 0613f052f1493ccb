"""The page's numbers under node are those of the native core, for every capture here."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from live_pages import CAPTURES, Native, answers, device_of_numbers, live_of, subject_of
from rings import further

from foreread.analyzer.report.live import bundle
from foreread.analyzer.report.live.inputs import live_inputs
from foreread.emulator.devices.measured import Measured, Point
from foreread.emulator.devices.stateful import Stateful

WINDOWS = [0, 1, 3, 8, 32, 100, 512, 1023]
KERNELS = ["2.6.18", "3.10", "5.10", "6.12", "7.2"]
DISKS = [
    {"latency": 250},
    {"transfer": 40},
    {"latency": 0, "transfer": 0},
    {"requests": 500},
    {"requests": 800, "limit": 10, "slice": 20},
    {"limit": 5, "even": True},
    {"latency": 1200, "transfer": 25, "requests": 2000, "even": True, "cpus": 1},
    {"requests": 0, "limit": 0},
]
SETTINGS = [
    *({"window": window} for window in WINDOWS),
    *({"window": window, "kernel": kernel} for kernel in KERNELS for window in (4, 32, 512)),
    *({"window": window, **disk} for disk in DISKS for window in (0, 32, 256)),
    *({"window": 32, "cpus": cpus} for cpus in (1, 4)),
    {"window": 64, "kernel": "5.10", "requests": 300, "cpus": 1},
]
UNPREDICTED = {"erofs-lz4-madplay"}  # compressed clusters are read whole at any window

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None,
    reason="no node: the page's numbers were not compared with the native core",
)


def name_of(path):
    return path.name.removesuffix(".capture.tar.xz")


# One of each kind that the page tells apart: with seconds, with a limiter, without, compressed.
NOW = ("python-start",)
READ = further(CAPTURES, [path for path in CAPTURES if name_of(path) in NOW])


@pytest.fixture(scope="module", params=READ, ids=name_of)
def page(request, tmp_path_factory):
    """A capture's subject, what its page embeds, and the page's answers."""
    subject = subject_of(request.param, WINDOWS)
    live = live_inputs(subject)
    if live is None:
        assert name_of(request.param) in UNPREDICTED
        return None
    return subject, live, answers(live, SETTINGS, tmp_path_factory.mktemp("page"))


def test_every_number_is_that_of_the_native_core(page):
    if page is None:
        return
    subject, live, found = page
    natives = {}
    for setting, answer in zip(SETTINGS, found, strict=True):
        kernel = setting.get("kernel")
        if kernel not in natives:
            natives[kernel] = Native(subject.recording, live, kernel)
        native = natives[kernel]
        assert (answer["requests"], answer["pages"]) == native.counts(setting["window"]), setting
        if live.start is None:
            assert "total" not in answer
            continue
        expected = native.times(setting["window"], _numbers(answer["device"]), setting.get("cpus"))
        times = tuple(answer[part] for part in ("total", "compute", "waited", "behind"))
        assert times == expected, setting


def _numbers(device):
    return [number.replace("Infinity", "inf") for number in device]


def test_the_recorded_setting_has_the_figures_of_the_prediction(page):
    if page is None:
        return
    subject, live, found = page
    total = subject.prediction.total
    for row, window in enumerate(total.windows):
        answer = found[WINDOWS.index(window)]
        assert (answer["requests"], answer["pages"]) == (total.f[row], total.pages[row])
        if live.start is not None:
            assert answer["total"] / 1e9 == total.seconds[row]


def test_the_map_shows_the_pages_and_rules_of_the_native_emulation(page):
    if page is None:
        return
    subject, live, found = page
    for kernel in (None, "5.10", "7.2"):
        native = Native(subject.recording, live, kernel)
        for setting, answer in zip(SETTINGS, found, strict=True):
            if setting.keys() - {"window", "kernel"} or setting.get("kernel") != kernel:
                continue
            waste, causes = native.waste(setting["window"])
            assert sorted(map(tuple, answer["map"]["unused"])) == _unused(waste)
            by_rule = {str(int(one.cause)): int(one.wasted.sum()) for one in causes}
            assert answer["map"]["causes"] == {rule: n for rule, n in by_rule.items() if n}


def _unused(waste):
    """Return (file row, page) of each unused page."""
    file = np.repeat(waste.run_file, waste.run_pages)
    first = np.cumsum(waste.run_pages) - waste.run_pages
    page = np.repeat(waste.run_page, waste.run_pages) + np.arange(len(file))
    page -= np.repeat(first, waste.run_pages)
    return sorted(zip(file.tolist(), page.tolist(), strict=True))


@pytest.mark.parametrize("names", [bundle.PAGE, bundle.WORKER], ids=["page", "workers"])
def test_the_joined_modules_are_one_strict_script(names, tmp_path):
    joined = tmp_path / "joined.js"
    joined.write_text(bundle.joined(names))
    done = subprocess.run(["node", "--check", joined], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert not re.search(r"^(import|export) ", joined.read_text(), re.MULTILINE)


def test_every_module_is_in_a_script():
    modules = {path.stem for path in bundle.HERE.glob("*.mjs")}
    assert modules == {*bundle.PAGE, *bundle.WORKER}


def test_without_readahead_each_page_is_read_when_it_is_needed(tmp_path):
    (capture,) = (path for path in CAPTURES if name_of(path) == "arm64-madplay")
    subject = subject_of(capture, [0])
    (answer,) = answers(live_of(subject), [{"window": 0}], tmp_path)
    assert (answer["map"]["ahead"], answer["map"]["unused"]) == (0, [])
    assert answer["map"]["needed"] == subject.prediction.total.tap


TABLE = Measured(
    (
        Point(4, False, 400e3, 300e3),
        Point(128, False, 2e6, 1.5e6),
        Point(4, True, 200e3, 100e3),
        Point(128, True, 1.5e6, 1.2e6),
    )
)
STATEFUL = Stateful(
    900e3,
    20e3,
    parallel=3,
    unit_kib=64,
    kept_units=4,
    hit_ns=5e4,
    seek_ns=2e5,
    jitter_ns=1e4,
    seed=7,
)


@pytest.mark.thorough
@pytest.mark.parametrize("device", [TABLE, STATEFUL], ids=["measured", "stateful"])
def test_a_given_disk_of_another_kind_has_the_native_seconds(device, tmp_path):
    (capture,) = (path for path in CAPTURES if name_of(path) == "x86_64-python-1")
    live = live_inputs(subject_of(capture, [0, 32]), device)
    settings = [{"window": 0}, {"window": 32}, {"window": 32, "latency": 100}]
    *found, changed = answers(live, settings, tmp_path)
    expected = live.start.timed([0, 32])
    assert [one["total"] for one in found] == [one.total_ns for one in expected]
    assert changed["device"][1] == "100000"
    own = replace(live.start, device=device_of_numbers([float(n) for n in changed["device"]]))
    assert changed["total"] == own.timed([32])[0].total_ns
