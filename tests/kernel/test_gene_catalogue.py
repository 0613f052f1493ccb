"""The catalogue against the running kernel: every tunable of its schedulers is a gene."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.tuner.space.catalogue import entries
from tracer.local.knobs import selected

SAME_AS_ANOTHER = {"bfq": {"slice_idle_us"}}  # slice_idle in another unit

pytestmark = pytest.mark.kernel


@pytest.fixture
def queue(tmp_path) -> Iterator[Path]:
    """The queue of a loop device of this test's own."""
    image = tmp_path / "image"
    image.write_bytes(b"\0" * (1 << 20))
    made = subprocess.run(
        ["losetup", "-f", "--show", str(image)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"this machine gives no loop device: tunables went unchecked: {made.stderr}")
    device = made.stdout.strip()
    queue = Path("/sys/block", Path(device).name, "queue")
    before = selected((queue / "scheduler").read_text().strip())
    yield queue
    (queue / "scheduler").write_text(before)  # the next image on this loop device would have it
    subprocess.run(["losetup", "-d", device], check=True)


@pytest.mark.parametrize("scheduler", ["mq-deadline", "kyber", "bfq"])
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
