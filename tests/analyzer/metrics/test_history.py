"""The history file: entries, what is refused, two writers, and the plot."""

import json
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import pytest

from foreread.analyzer.metrics import history
from foreread.analyzer.metrics.history import (
    MOST_ENTRIES,
    DriftError,
    History,
    HistoryEntry,
    HistoryError,
    add_to_history,
    check_drift,
    check_history,
    read_history,
    series_of,
)
from foreread.analyzer.metrics.history_plot import PANELS, history_plot
from foreread.analyzer.metrics.metric import SECONDS, Metric, labels_of
from foreread.boards.base.document import encode

HOSTILE = "<script>alert(1)</script> $x^2$ \x1b[31m \udc80 \u202e & \"' 日本"


def seconds(value, start="app", board="arm64", window="present", kind="predicted"):
    labels = labels_of(start=start, board=board, window=window, kind=kind)
    return Metric(name=SECONDS, value=value, low=0.9 * value, high=1.1 * value, labels=labels)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.json"


def test_each_commit_is_added_with_its_date(path):
    add_to_history(path, "a1", [seconds(1.0)])
    kept = add_to_history(path, "b2", [seconds(1.5)])
    assert kept == read_history(path)
    assert [entry.commit for entry in kept.entries] == ["a1", "b2"]
    assert all(entry.date.endswith("+00:00") for entry in kept.entries)
    (series,) = series_of(kept)
    assert [metric.value for metric in series.metrics] == [1.0, 1.5]


def test_a_job_that_is_run_again_counts_once(path):
    for commit, value in (("a1", 1.0), ("b2", 9.0), ("c3", 1.1), ("b2", 1.05)):
        kept = add_to_history(path, commit, [seconds(value)])
    (series,) = series_of(kept)
    assert series.commits == ["a1", "b2", "c3"]
    assert [metric.value for metric in series.metrics] == [1.0, 1.05, 1.1]


@pytest.mark.parametrize(
    "other",
    [{"start": "other"}, {"board": "x86_64"}, {"kind": "measured"}, {"board": None}],
    ids=str,
)
def test_another_start_board_or_kind_is_refused_and_the_file_stays(other, path):
    add_to_history(path, "a1", [seconds(1.0)])
    before = path.read_bytes()
    with pytest.raises(HistoryError, match="is the history of app on arm64, and the result is of"):
        add_to_history(path, "b2", [seconds(1.0, **other)])
    assert path.read_bytes() == before


def test_a_suite_may_gain_and_lose_starts(path):
    add_to_history(path, "a1", [seconds(1.0), seconds(2.0, "old")])
    kept = add_to_history(path, "b2", [seconds(1.0), seconds(3.0, "new")])
    assert {series.title: len(series.commits) for series in series_of(kept)} == {
        "app on arm64": 2,
        "new on arm64": 1,
    }


def test_a_result_without_seconds_is_refused(path):
    labels = labels_of(start="app", window="present")
    with pytest.raises(HistoryError, match="no seconds") as refused:
        add_to_history(path, "a1", [Metric(name="requests", value=1, labels=labels)])
    assert "--device-model FILE" in refused.value.remedy
    assert not path.exists()


def test_the_proposed_window_is_kept_and_not_tested(path):
    kept = add_to_history(path, "a1", [seconds(1.0), seconds(0.5, window="proposed")])
    assert len(kept.entries[0].metrics) == 2
    (series,) = series_of(kept)
    assert [metric.value for metric in series.metrics] == [1.0]


def test_the_last_commits_are_kept(path):
    entries = [
        HistoryEntry(commit=f"c{at}", date="", metrics=[seconds(1.0)]) for at in range(MOST_ENTRIES)
    ]
    path.write_text(encode(History(entries=entries)))
    kept = [entry.commit for entry in add_to_history(path, "new", [seconds(1.0)]).entries]
    assert len(kept) == MOST_ENTRIES
    assert (kept[0], kept[-2:]) == ("c1", [f"c{MOST_ENTRIES - 1}", "new"])


def test_a_history_that_would_be_too_large_to_read_is_not_written(path, monkeypatch):
    add_to_history(path, "a1", [seconds(1.0)])
    before = path.read_bytes()
    monkeypatch.setattr(history, "LARGEST_BYTES", len(before))
    with pytest.raises(HistoryError, match="and the most is") as refused:
        add_to_history(path, "b2", [seconds(1.0)])
    assert refused.value.remedy.endswith(f"mv {path} {path}.1")
    assert path.read_bytes() == before


ENTRY = {"commit": "a", "date": "", "metrics": []}
DAMAGED = {
    "text": b"mine",
    "nothing": b"",
    "another schema": b'{"schema": 2, "entries": []}',
    "no entries": b'{"schema": 1}',
    "an empty commit": json.dumps({"entries": [{**ENTRY, "commit": ""}]}).encode(),
    "no number": b'{"entries": [{"commit": "a", "date": "", "metrics": [{"name": "x", "value": NaN,'
    b' "labels": {}}]}]}',
    "too many": json.dumps({"entries": [ENTRY] * (MOST_ENTRIES + 1)}).encode(),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_file_that_is_not_a_history_is_refused_and_stays(content, path):
    path.write_bytes(content)
    with pytest.raises(HistoryError, match=r"history\.json") as refused:
        check_history(path, "--history")
    assert refused.value.remedy
    with pytest.raises(HistoryError):
        add_to_history(path, "a1", [seconds(1.0)])
    assert path.read_bytes() == content


def test_writers_at_the_same_time_lose_no_entry(path):
    """flock is per open file: threads exclude each other as processes do."""
    with ThreadPoolExecutor(8) as pool:
        commits = [f"c{at}" for at in range(40)]
        list(pool.map(lambda commit: add_to_history(path, commit, [seconds(1.0)]), commits))
    assert sorted(e.commit for e in read_history(path).entries) == sorted(commits)
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def drifting(path, starts=("app",), commits=20):
    for at in range(commits):
        kept = add_to_history(path, f"c{at}", [seconds(1.01**at, start) for start in starts])
    return series_of(kept)


def test_a_drift_is_an_error_with_the_commands_to_type(path):
    with pytest.raises(DriftError, match=r"app on arm64: .* s, \+16\.1 % over 20 commits") as found:
        check_drift(path, drifting(path))
    assert found.value.remedy.endswith(f"begin another history: mv {path} {path}.1")
    assert "since c0" in str(found.value)


def test_steady_starts_are_not_an_error(path):
    add_to_history(path, "a1", [seconds(1.0)])
    check_drift(path, series_of(add_to_history(path, "b2", [seconds(1.0)])))
    assert len(read_history(path).entries) == 2


@pytest.mark.parametrize("commits", [1, 2, 20])
def test_the_plot_names_the_drift(commits, path):
    text = history_plot(drifting(path, commits=commits), ".svg").decode()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert ("drift, +16.1 %" in text) == (commits == 20)
    assert "c0" in text


def test_the_plot_is_a_picture(path):
    assert history_plot(drifting(path, commits=3), ".png").startswith(b"\x89PNG")


def test_hostile_names_stay_text_in_the_plot(path):
    kept = add_to_history(path, HOSTILE, [seconds(1.0, HOSTILE, HOSTILE)])
    text = history_plot(series_of(kept), ".svg").decode()
    assert not any(code in text for code in ("<script>", "\x1b", "\u202e"))
    root = ElementTree.fromstring(text)
    assert any("<script>" in words for words in root.itertext())


def test_many_starts_are_drawn_in_part(path):
    starts = [f"start-{at}" for at in range(PANELS + 3)]
    text = history_plot(drifting(path, starts, 2), ".svg").decode()
    assert "and 3 more" in text
