"""Metrics in each form, read back by its tool, its schema or a shell; hostile names."""

import json
import re
import subprocess

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from shells import BUSYBOX, each_shell

from foreread.analyzer.metrics.bencher import bencher
from foreread.analyzer.metrics.github_benchmark import github_benchmark
from foreread.analyzer.metrics.lava import lava
from foreread.analyzer.metrics.metric import MEASURES, SECONDS, Metric, labels_of
from foreread.analyzer.metrics.openmetrics import openmetrics
from foreread.boards.base.printable import printable

HOSTILE = "\"}\\ $(touch x) `id` |<b> @me \n# EOF\n \x1b[31m \udc80 \u202e > '; -bencher-ignore"
NUMBER = {"type": "number"}
# What Bencher takes: https://bencher.dev/bmf.json, and nothing else.
BENCHER = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "propertyNames": {"pattern": "^[a-z-]{1,64}$"},
        "additionalProperties": {
            "type": "object",
            "properties": {"value": NUMBER, "lower_value": NUMBER, "upper_value": NUMBER},
            "required": ["value"],
            "additionalProperties": False,
        },
    },
    "propertyNames": {"minLength": 1, "maxLength": 1024},
}
TEXT = {"type": "string"}
# BenchmarkResults of github-action-benchmark (src/extract.ts), with the types that it converts to.
GITHUB = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": TEXT, "unit": TEXT, "value": NUMBER, "range": TEXT, "extra": TEXT},
        "required": ["name", "unit", "value"],
        "additionalProperties": False,
    },
}


def metrics_of(start, board=None, value=1.5):
    labels = labels_of(start=start, board=board, window="present", kind="predicted")
    return [
        Metric(name=SECONDS, value=value, low=1.25, high=1e15, labels=labels, failed=True),
        *(Metric(name=name, value=7, labels=labels) for name in MEASURES if name != SECONDS),
    ]


def samples(metrics):
    """What Prometheus's parser reads, by name: the family's unit, labels and value."""
    return {
        sample.name: (family.type, family.unit, sample.labels, sample.value)
        for family in text_string_to_metric_families(openmetrics(metrics).decode())
        for sample in family.samples
    }


def test_prometheus_reads_every_measure_with_its_bounds():
    found = samples(metrics_of("app --now", "arm64"))
    labels = {"start": "app --now", "board": "arm64", "window": "present", "kind": "predicted"}
    assert found["foreread_start_seconds"] == ("gauge", "seconds", labels, 1.5)
    assert found["foreread_start_low_seconds"] == ("gauge", "seconds", labels, 1.25)
    assert found["foreread_start_high_seconds"] == ("gauge", "seconds", labels, 1e15)
    assert set(found) - {"foreread_start_low_seconds", "foreread_start_high_seconds"} == {
        f"foreread_{name}" for name in MEASURES
    }


def test_no_metric_is_an_empty_text():
    assert list(text_string_to_metric_families(openmetrics([]).decode())) == []
    assert json.loads(bencher([])) == {}
    assert json.loads(github_benchmark([])) == []
    assert "lava-test-case " not in lava([]).decode()


NAMES = st.one_of(st.just(HOSTILE), st.text(max_size=40))


@given(NAMES, NAMES)
def test_prometheus_reads_hostile_names_as_printable_text(start, board):
    text = openmetrics(metrics_of(start, board)).decode()
    assert printable(text, keep="\n") == text
    for _, _, labels, _ in samples(metrics_of(start, board)).values():
        assert labels.get("start", "") == printable(start)
        assert labels.get("board", "") == printable(board)


def test_names_that_are_printed_alike_are_one_series():
    found = samples([*metrics_of("a\x1b"), *metrics_of("a\\x1b", value=2)])
    assert found[f"foreread_{SECONDS}"][3] == 2


def test_bencher_gets_a_value_with_lower_and_upper():
    document = json.loads(bencher(metrics_of("app", "arm64")))
    (name,) = document
    assert name == "app on arm64, present window"
    assert document[name]["start-seconds"] == {
        "value": 1.5,
        "lower_value": 1.25,
        "upper_value": 1e15,
    }
    assert document[name]["requests"] == {"value": 7}


@given(NAMES)
def test_bencher_s_schema_takes_hostile_names_and_no_name_ignores_alerts(start):
    document = json.loads(bencher(metrics_of(start)))
    jsonschema_rs.validate(BENCHER, document)
    assert not any(re.search("-bencher-ignore$", name) for name in document)
    assert all(name == name.strip() == printable(name) for name in document)


def test_a_name_that_is_too_long_for_bencher_is_cut():
    document = json.loads(bencher(metrics_of(" x" * 5000)))
    jsonschema_rs.validate(BENCHER, document)


def test_the_action_gets_seconds_only():
    """Its tool takes every rise as worse: a larger window is not."""
    metrics = metrics_of("app", "arm64")
    results = json.loads(github_benchmark(metrics))
    jsonschema_rs.validate(GITHUB, results)
    assert [(one["name"], one["unit"], one["value"]) for one in results] == [
        ("start seconds: app on arm64, present window", "seconds", 1.5),
        ("weighted seconds: app on arm64, present window", "seconds", 7),
    ]
    assert results[0]["range"] == "1.25 to 1e+15"


@given(NAMES)
def test_the_action_s_table_keeps_hostile_names_as_code(start):
    results = json.loads(github_benchmark(metrics_of(start)))
    jsonschema_rs.validate(GITHUB, results)
    assert not any(set("`|<>\n\x1b") & set(one["name"]) for one in results)


def cases(script, shell, folder):
    """Source the lines in a shell as a LAVA test does, and return the words of each call."""
    (folder / "lines.sh").write_bytes(script)
    stub = folder / "lava-test-case"
    stub.write_text('#!/bin/sh\nprintf "%s\\t" "$@"\necho\n')
    stub.chmod(0o755)
    done = subprocess.run(
        [*shell, "-ec", 'PATH="$PWD:$PATH"; . ./lines.sh'],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split("\t")[:-1] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", each_shell(BUSYBOX))
def test_a_shell_gets_a_test_case_for_each_metric(shell, tmp_path):
    found = cases(lava(metrics_of("app --now", "arm64")), shell, tmp_path)
    assert found[0] == [
        "start_seconds-present-app-now-on-arm64",
        *("--result", "fail", "--units", "seconds", "--measurement", "1.5"),
    ]
    assert {words[2] for words in found[1:]} == {"pass"}
    assert len(found) == len(MEASURES)


@pytest.mark.parametrize("shell", each_shell(BUSYBOX))
def test_a_shell_reads_hostile_names_as_ids_and_runs_nothing(shell, tmp_path):
    found = cases(lava(metrics_of(HOSTILE, "../..")), shell, tmp_path)
    assert len(found) == len(MEASURES)
    assert {path.name for path in tmp_path.iterdir()} == {"lines.sh", "lava-test-case"}


@given(st.lists(NAMES, max_size=8, unique=True))
def test_ids_are_distinct_and_as_lava_takes_them(starts):
    script = lava([metric for start in starts for metric in metrics_of(start)]).decode()
    ids = re.findall(r"^lava-test-case (\S+) ", script, re.MULTILINE)
    assert len(set(ids)) == len(ids) == len({start or "" for start in starts}) * len(MEASURES)
    assert all(re.fullmatch(r"[a-z][A-Za-z0-9_.-]*", one) for one in ids)
