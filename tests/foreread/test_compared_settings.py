"""The settings of the runs that confirm a row of advice with further knobs."""

from pathlib import Path
from types import SimpleNamespace

import msgspec
from capture_builder import capture_of

from foreread.analyzer.advise.document import AdviceDocument, AdviceRow, RowTrial, TrialSetting
from foreread.analyzer.predict.proposal import Proposal
from foreread.measuring.advice_row import row_of_advice
from foreread.measuring.settings import choose_windows
from foreread.tracer.trials.trial import Scenario

KNOB = "/sys/block/loop0/queue/read_ahead_kb"
INODES = "mount:inode_readahead_blks=:/data"


def written(folder, **trial):
    row = AdviceRow(
        kind="combination",
        what="both",
        seconds=0.35,
        saved=0.35,
        band=0.01,
        memory_bytes=0,
        image_bytes=0,
        flash_bytes=0,
        effort="one setting",
        risk="",
        how=[],
        measure=None,
        trial=RowTrial(settings=[TrialSetting(INODES, "0")], **trial),
        lists=[],
        ranges=[],
        parts=[],
    )
    document = AdviceDocument(
        command=["app"],
        recorded=None,
        kernel=None,
        model="linux-6.18",
        disk=None,
        read_ahead_kb=1536,
        seconds=0.7,
        read_bytes=0,
        rows=[row],
        tried=1,
        notes=[],
        doubts=[],
    )
    path = Path(folder, "advice.json")
    path.write_bytes(msgspec.json.encode(document))
    return path


def compared(path):
    row = row_of_advice(path, 1)
    bench = SimpleNamespace(windows=[KNOB], probe=lambda knobs: dict.fromkeys(knobs, "1536"))
    kib = row.present_kb if row.read_ahead_kb is None else row.read_ahead_kb
    return choose_windows(bench, capture_of(), Proposal(kib, {"loop0": kib}, {}), row, Scenario())


def test_proposed_runs_have_the_setting_and_the_window(tmp_path):
    found = compared(written(tmp_path, read_ahead_kb=128))
    assert found.present == ((KNOB, "1536"),)
    assert found.proposed == ((INODES, "0"), (KNOB, "128"))
    assert (found.proposed_kb, found.change) == (128, "both")


def test_a_setting_alone_leaves_the_window(tmp_path):
    found = compared(written(tmp_path))
    assert found.proposed == ((INODES, "0"), (KNOB, "1536"))
    assert found.proposed_kb == found.present_kb == 1536
