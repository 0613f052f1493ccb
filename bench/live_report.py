"""The page of a report with many accesses in a headless Chromium: numbers, map, and pauses.

    bench/live_report.py [--accesses N] [--page FILE]

Prints JSON: milliseconds by the browser's own performance interface. ``numbers_ms`` are from an
input event of the slider to the figures on the page, ``worker_ms`` their part in the worker,
``map_changed_ms`` from the same event to another window's map, ``map_ms`` from a move on the map to
its pixels on the page, ``draw_ms`` their drawing in the worker, and ``longest_task_ms`` the longest
time from 50 ms on that the page's thread was busy while the reader moves the slider. Without
``--page`` the page is that of a synthetic start: pages of 400 files, some in order and some at
random.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/support")]

from browser import Browser, chromium  # noqa: E402
from capture_builder import PAGE, ROOT_PID, capture_of  # noqa: E402
from waiting import wait_until  # noqa: E402

from foreread.analyzer.ingest.interpret import interpret  # noqa: E402
from foreread.analyzer.ingest.recording import Recording, Trace  # noqa: E402
from foreread.analyzer.ingest.tables import EVENTS, Kind, Rwbs, Table  # noqa: E402
from foreread.analyzer.predict.choice import predict_by  # noqa: E402
from foreread.analyzer.report.live.inputs import live_inputs  # noqa: E402
from foreread.analyzer.report.write import write_report  # noqa: E402
from foreread.emulator.devices.device import FixedCost  # noqa: E402
from foreread.tracer.formats.capture import Extent, FileEntry  # noqa: E402

FILES, SEED = 400, 17
DEV, INODE, FIRST_SECTOR, START_NS = 7 << 20, 100, 2048, 1_000_000_000
DISK = FixedCost(100e3, 8e3)
STEP_NS = 140_000  # from one access to the next: 132 µs of the disk, and computing
AT_NS = (0, 1_000, 2_000, 3_000, 135_000)  # of each event
Ints = npt.NDArray[np.int64]
WINDOWS = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1023]
MEASURES = """
return {
  shown: performance.getEntriesByName('foreread: numbers shown').map((e) => e.duration),
  changed: performance.getEntriesByName('foreread: map changed').map((e) => e.duration),
}
"""
WATCH = """
window.longest = 0;
window.watching = new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
});
window.watching.observe({type: 'longtask', buffered: true});
"""
MOVE = """
const slider = document.getElementById('live-b-window');
slider.value = arguments[0];
slider.dispatchEvent(new Event('input'));
"""
IDLE = "return ![...foreread.numbers.busy.values(), ...foreread.mapper.busy.values()].some(Boolean)"
ASKED = "return foreread.numbers.ask('numbers', {setting: {window: arguments[0]}})"
REDRAWN = """
const began = performance.now();
const {map} = foreread;
return new Promise((resolve) => {
  const put = map.put;
  map.put = (answer) => {
    put.call(map, answer);
    map.put = put;
    resolve([performance.now() - began, answer.took]);
  };
  map.draw();
});
"""


def synthetic(accesses: int) -> Recording:
    """Return a start of so many pages, or a few less: faults of one thread, each read alone."""
    file, page, pages = _accessed(accesses)
    rows = len(file)
    events = Table.empty(EVENTS, 5 * rows)
    kinds = (Kind.FAULT, Kind.INSERT, Kind.BIO_QUEUE, Kind.RQ_ISSUE, Kind.RQ_COMPLETE)
    of_block = (0, 0, 1, 1, 1)
    sectors = FIRST_SECTOR + ((np.cumsum(pages) - pages)[file] + page) * 8
    began = START_NS + np.arange(rows) * STEP_NS
    for row, (kind, is_block) in enumerate(zip(kinds, of_block, strict=True)):
        at = slice(row, None, len(kinds))
        events["time_ns"][at] = began + AT_NS[row]
        events["kind"][at], events["pid"][at], events["dev"][at] = kind, ROOT_PID, DEV
        events["ino"][at] = 0 if is_block else INODE + file
        events["index"][at] = sectors if is_block else page
        events["value"][at] = 8 if is_block else 0
        events["flags"][at] = Rwbs.READ if is_block else 0
    names = {"filemap:mm_filemap_fault", "filemap:mm_filemap_add_to_page_cache"}
    capture = capture_of(start_ns=START_NS, end_ns=START_NS + rows * STEP_NS)
    entries = [
        _entry(row, int(number), int(first))
        for row, (number, first) in enumerate(zip(pages, np.cumsum(pages) - pages, strict=True))
    ]
    return interpret(Trace("synthetic", events, event_names=names), capture, entries, "tree")


def _entry(row: int, pages: int, first: int) -> FileEntry:
    """Return a file that is stored in one piece."""
    place = (FIRST_SECTOR + first * 8) * 512
    return FileEntry(
        dev="7:0",
        ino=INODE + row,
        path=f"/usr/lib/application/module_{row:03}.so",
        size_bytes=pages * PAGE,
        extents=[Extent(at=0, physical=place, length=pages * PAGE, written=True)],
    )


def _accessed(accesses: int) -> tuple[Ints, Ints, Ints]:
    """Return file and page of each access, and the pages of each file."""
    rng = np.random.default_rng(SEED)
    sizes = np.maximum(rng.pareto(1.2, FILES), 0.02)
    pages = np.maximum((sizes / sizes.sum() * accesses * 1.35).astype(np.int64), 8)
    parts = []
    for file in range(FILES):
        order = np.arange(pages[file])
        if file % 3 == 0:
            order = rng.permutation(order[: len(order) // 4 * 4].reshape(-1, 4)).ravel()
        accessed_pages = order[: max(int(len(order) * rng.uniform(0.5, 1.0)), 1)]
        parts.append(np.column_stack((np.full(len(accessed_pages), file), accessed_pages)))
    rows = np.concatenate(parts)[:accesses]
    late = rng.random(len(rows)) < 0.2
    file, page = np.concatenate((rows[~late], rows[late])).T
    return file, page, pages


def page_of(recording: Recording, folder: Path) -> Path:
    """Write the report of a start, and return its page."""
    prediction = predict_by(recording, "linux", WINDOWS, DISK)
    parts = (recording, prediction, None, None, folder)
    return write_report(*parts, recompute=lambda subject: live_inputs(subject, DISK)).html


def measured(browser: Browser, page: Path) -> dict[str, Any]:
    """Return the page's times (ms)."""
    browser.sized(1280, 900)
    browser.open(page)
    wait_until(lambda: "Exact" in browser.run("return foreread.part('status').textContent"))
    wait_until(lambda: browser.run("return foreread.map.view !== null"))
    browser.run(WATCH)
    wait_until(lambda: browser.run("return foreread.curve.points.b.size >= 21") and _idle(browser))
    loading = browser.run("return window.longest")
    browser.run("performance.clearMeasures(); window.longest = 0")
    for step in range(2000, 20000, 900):
        browser.run(MOVE, step)
        wait_until(lambda: _idle(browser))
    moved = browser.run(MEASURES)
    worker_ms = [browser.run(ASKED, window)["took"] for window in (8, 32, 128, 512)]
    redrawn = [browser.run(REDRAWN) for _ in range(10)]
    return {
        "page_bytes": page.stat().st_size,
        "accesses": browser.run("return foreread.meta.tables.accesses.rows"),
        "operations": browser.run("return foreread.meta.tables.operations.rows"),
        "numbers_ms": _spread(moved["shown"]),
        "worker_ms": _spread(worker_ms),
        "map_changed_ms": _spread(moved["changed"]),
        "map_ms": _spread([whole for whole, _ in redrawn]),
        "draw_ms": _spread([took for _, took in redrawn]),
        "longest_task_while_loading_ms": loading,
        "longest_task_ms": browser.run("return window.longest"),
    }


def _idle(browser: Browser) -> bool:
    return bool(browser.run(IDLE))


def _spread(values: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(values), 2),
        "most": round(max(values), 2),
        "samples": len(values),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--accesses", type=int, default=1_000_000)
    parser.add_argument("--page", type=Path, help="measure this page instead")
    parser.add_argument("--keep", type=Path, help="folder to write the synthetic report to")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = args.page
        if page is None:
            page = page_of(synthetic(args.accesses), args.keep or Path(folder))
        print(json.dumps(measured(browser, page), indent=1))


if __name__ == "__main__":
    main()
