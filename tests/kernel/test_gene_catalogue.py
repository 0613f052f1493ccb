"""The catalogue against the running kernel: every tunable of its schedulers is a gene."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from loop_board import loop_device
from rings import further

from foreread.analyzer.tuner.space.catalogue import entries

SAME_AS_ANOTHER = {"bfq": {"slice_idle_us"}}  # slice_idle in another unit

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: tunables went unchecked"),
]


@pytest.fixture
def queue(tmp_path) -> Iterator[Path]:
    """The queue of a loop device of this test's own."""
    with loop_device(tmp_path / "image") as name:
        yield Path("/sys/block", name, "queue")


@pytest.mark.parametrize("scheduler", further(("mq-deadline", "kyber", "bfq"), ["mq-deadline"]))
def test_every_tunable_of_a_scheduler_is_a_gene(queue, scheduler):
    try:
        (queue / "scheduler").write_text(scheduler)
    except OSError as error:
        pytest.skip(f"this kernel has no {scheduler}: its tunables went unchecked: {error}")
    there = {path.name for path in (queue / "iosched").iterdir()}
    known = {
        Path(entry.knob).name
        for entry in entries()
        if entry.knob and scheduler in entry.requires.get("scheduler", ())
    }
    assert there - SAME_AS_ANOTHER.get(scheduler, set()) <= known
