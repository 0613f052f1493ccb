"""The disk of emulated boards: known where foreread started them, else probed by reads."""

from __future__ import annotations

import pytest

from foreread.analyzer.predict.disk.probed import device_of_probe
from foreread.boards.emulated import MACHINES
from foreread.boards.emulated.image import SAMPLE
from foreread.boards.emulated.live import LiveOptions, boot
from foreread.boards.ssh import SshTarget
from foreread.recording.steps import recorded
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.remote.record import run_on
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

pytestmark = pytest.mark.boards
PLAY = ["madplay", "-Q", "-o", "null:", "-t", "1", f"/{SAMPLE}"]
KNOB = "/sys/block/slow0/queue/read_ahead_kb"
LATENCY_NS, NS_PER_KIB = 500_000, 80_000
# mipsel has no icount: what its processor adds to a request is seconds of this machine.
OFF = {"mipsel": 0.15}


def probed(target, output):
    """Record on a target; return the probe of its disk, as read back."""
    options = RecordOptions(RunOptions(PLAY, allow_warm=True))
    recorded(run_on(target, options, output))
    return capture_files.read(output)[0].disk


@pytest.mark.parametrize("name", MACHINES)
def test_the_disk_is_known_or_probed(name, tmp_path):
    board = boot(LiveOptions(name, latency_ns=LATENCY_NS, ns_per_kib=NS_PER_KIB))
    try:
        with board.target() as target:
            known = probed(target, tmp_path / "known")
        assert known.known is not None
        truth = device_of_probe(known).device
        assert (truth.latency_ns, truth.ns_per_kib) == (LATENCY_NS, NS_PER_KIB)
        with SshTarget(board.address, board.known_hosts, board.identity) as stranger:
            found = probed(stranger, tmp_path / "probed")
            assert stranger.read_knob(KNOB) == "128"
    finally:
        board.stop()
    assert found.known is None
    assert {trial.how for trial in found.trials} == {"buffered"}
    device = device_of_probe(found).device
    for sectors in (8, 64, 256):
        expected = truth.service_ns(sectors)
        assert device.service_ns(sectors) == pytest.approx(expected, rel=OFF.get(name, 0.03))
