"""What a target's shell does beside the start of a trial: a list replayed, settings changed."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from loop_image import WINDOW_KB, loop_image
from prefetch_replayers import compiled as compiled_replayer
from rings import further
from series_trials import MEASURED, at, trials_by
from shells import each_shell

from foreread.analyzer.apply.write import REPLAYER_SCRIPT, shipped
from foreread.analyzer.prefetch.listing import Listing, Range, encode
from foreread.tracer.runs.options import Streams
from foreread.tracer.trials.beside import Later, Replayer

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no trial was made"),
]


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        yield image


@pytest.fixture(params=each_shell())
def trials(request, loop):
    with trials_by(request.param, loop) as trials:
        yield trials


@pytest.mark.parametrize("compiled", further((False, True), [False]))
def test_a_list_is_replayed_beside_the_start_alone_of_the_trials_that_ask(
    loop, trials, tmp_path, compiled
):
    """The start itself reads nothing of the listed file."""
    other = loop.data.with_name("other")
    other.write_bytes(os.urandom(1 << 20))
    os.sync()
    listing = encode(Listing((Range(str(other), 0, 1 << 20),)))
    program = Path(compiled_replayer(tmp_path)[0]) if compiled else scripted(tmp_path)
    replayer, command = waiting_for(program, listing, loop, tmp_path)
    with trials(*command, replayer=replayer) as bench:
        alone = bench.run(at(loop, 16))
        (tmp_path / "wait").touch()
        beside = bench.run(replace(at(loop, 16), replays=True))
    sectors = [one.counters["disk.read_sectors"] for one in (alone, beside)]
    assert sectors[0] < 200
    assert sectors[1] >= 2048
    assert beside.status in MEASURED
    assert not [note for note in beside.notes if "other processes read" in note]


def scripted(folder):
    """Return the replayer's script as a program."""
    program = folder / "replayer"
    program.write_bytes(shipped(REPLAYER_SCRIPT))
    program.chmod(0o755)
    return program


def waiting_for(program, listing, loop, folder):
    """Return a replayer, and a command that waits for its end, and its reads', if it is to."""
    wait, over = folder / "wait", folder / "over"
    said = f'#!/bin/sh\n"{program}" "$@"\nstatus=$?\n: >{over}\nexit $status\n'
    idle = f"read -r reads _ </sys/block/{loop.device}/inflight && [ $reads = 0 ]"
    script = f"[ ! -e {wait} ] || until [ -e {over} ] && {idle}; do sleep 0.02; done"
    return Replayer(said.encode(), listing), ["busybox", "sh", "-c", script]


@pytest.mark.thorough
def test_a_damaged_list_fails_the_trial_that_replays_it(loop, trials, tmp_path):
    (tmp_path / "wait").touch()
    replayer, command = waiting_for(scripted(tmp_path), b"not a list\n", loop, tmp_path)
    with trials(*command, replayer=replayer) as bench:
        found = bench.run(replace(at(loop, 16), replays=True))
    assert found.status == "failed"
    assert "no prefetch list of version 1" in found.notes[0]


@pytest.mark.thorough
def test_a_setting_changes_during_the_start_and_is_restored(loop, trials):
    knob = str(loop.knob)
    changed = f"until read -r kb <{knob} && [ $kb = 64 ]; do sleep 0.02; done"
    script = f"cat {knob}; read -r kb <{knob}; [ $kb = 32 ] || {changed}; cat {knob}"
    with tempfile.TemporaryFile() as said, open(os.devnull, "wb") as rest:  # noqa: PTH123
        streams = Streams(stdout=said.fileno(), stderr=rest.fileno())
        with trials("sh", "-c", script, streams=streams) as bench:
            found = bench.run(replace(at(loop, 16), later=(Later(0.2, knob, "64", "16"),)))
            assert bench.run(at(loop, 32)).in_force == {knob: "32"}
        said.seek(0)
        assert said.read().split() == [b"16", b"64", b"32", b"32"]
    assert found.status in MEASURED
    assert not found.changed
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_a_later_setting_is_one_of_the_listed_knobs(loop, trials):
    with trials() as bench:
        found = bench.run(
            replace(at(loop, 16), later=(Later(0.0, "/proc/sys/vm/panic", "1", "0"),))
        )
    assert found.status == "refused"
