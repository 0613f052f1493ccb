"""A capture with a load: ``foreread show`` lists its programs, other commands need a start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from json_outputs import check

LOAD = Path(__file__).parents[2] / "analyzer/load/data/direct.capture.tar.xz"


def test_show_lists_the_programs_of_a_load(run):
    lines = run("show", LOAD).out.splitlines()
    assert lines[0] == "a load of 0.1 s on disk loop2, and no start: 1 program"
    (row,) = [line.split() for line in lines if line.lstrip().startswith("dd ")]
    assert " ".join(row[:5]) == "dd reads in order, direct"
    assert row[5:7] == ["128", "KiB"]
    assert "window      128 KiB when recorded" in lines
    assert not any("NOT PROVEN" in line or "CONTAMINATED" in line for line in lines)


def test_the_document_has_the_clients(run):
    text = run("show", LOAD, "--json").out
    check("show", text)
    load = json.loads(text)["load"]
    assert (load["disk"], load["read_ahead_kb"], load["unpredicted"]) == ("7:2", 128, "")
    (client,) = load["clients"]
    assert (client["name"], client["size"], client["in_order"]) == ("dd", 131072, True)
    assert (client["write"], client["cached"], client["outstanding"]) == (False, False, 1)


@pytest.mark.parametrize(
    "words",
    [
        ["predict"],
        ["advise"],
        ["forecast", "--model", "linux-6.1"],
        ["report", "-o", "{folder}/out"],
        ["script", "-o", "{folder}/out"],
        ["prefetch", "-o", "{folder}/list"],
        ["layout", "-o", "{folder}/out"],
        ["export", "--format", "chrome", "-o", "{folder}/out"],
        ["confirm"],
        ["diff", str(LOAD)],
        ["sweep", "-o", "{folder}/out"],
    ],
    ids=lambda words: words[0],
)
def test_commands_that_need_a_start_say_what_to_type(run, tmp_path, words):
    command, *options = (word.format(folder=tmp_path) for word in words)
    said = run(command, LOAD, *options, code=1).err
    assert f"{LOAD} holds a load, and no start" in said
    assert f"foreread predict CAPTURE --load {LOAD}" in said
