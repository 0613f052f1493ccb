"""Traces of other tools that lack evidence: no page becomes a written one, losses are counted."""

from pathlib import Path

import pytest

from foreread.analyzer.ingest.load import load, load_any
from foreread.analyzer.ingest.losses import losses_text, lost_events
from foreread.analyzer.ingest.read_evidence import Unseen
from foreread.analyzer.predict.choice import predict_by

DATA = Path(__file__).parent / "data/foreign"


def found(name):
    return load(DATA / name, "all")


@pytest.mark.parametrize(
    ("name", "pages", "files", "written", "metadata", "unseen"),
    [
        ("mmcqd.txt", 6, 1, 0, 0, Unseen.NOT_QUEUED),
        ("kworker.pftrace", 40, 1, 0, 0, Unseen.NOT_QUEUED),
        ("by-task.pftrace", 40, 1, 0, 0, None),
        ("nfs.txt", 60, 1, 0, 0, Unseen.NO_DISK),
        ("nfs-no-block.txt", 60, 1, 0, 0, Unseen.NO_BLOCK_EVENTS),
        ("plain.txt", 20, 1, 20, 0, None),
        ("stacked.txt", 20, 1, 20, 0, None),
        ("phone.txt", 20, 10, 0, 10, None),
    ],
)
def test_pages_count_as_read_where_the_trace_cannot_tell(
    name, pages, files, written, metadata, unseen
):
    recording = found(name)
    assert (recording.accesses.rows, recording.files.rows) == (pages, files)
    assert recording.counts["written_or_hole"] == written
    assert recording.counts["metadata"] == metadata
    assert not recording.contaminated
    assert {*recording.inserts.unseen.tolist()} == {unseen or 0}


@pytest.mark.parametrize(
    ("name", "missing", "remedy"),
    [
        ("mmcqd.txt", "no block:block_bio_queue", "events/block/block_bio_queue/enable"),
        ("kworker.pftrace", "no block:block_bio_queue", "add block/block_bio_queue"),
        ("nfs-no-block.txt", "no block events", "perf record -e block:block_bio_queue"),
        ("nfs.txt", "no reads of a disk fill the pages of 0:62", "foreread record"),
    ],
)
def test_a_doubt_names_what_is_missing_and_how_to_record_it(name, missing, remedy):
    recording = found(name)
    prediction = predict_by(recording)
    (doubt,) = (one for one in prediction.doubts if "may have been written" in one)
    assert missing in doubt and remedy in doubt
    assert doubt in recording.notes
    assert prediction.verdict.action == prediction.published.action == "measure"


def test_requests_of_the_application_itself_show_that_the_pages_were_read():
    assert not any("written" in one for one in predict_by(found("by-task.pftrace")).doubts)


def test_stacked_disks_give_the_answer_of_the_disk_on_top():
    stacked, plain = (predict_by(found(name)) for name in ("stacked.txt", "plain.txt"))
    assert (stacked.total, stacked.doubts) == (plain.total, plain.doubts)


def test_nodes_of_f2fs_are_named():
    (note,) = (one for one in found("phone.txt").notes if "f2fs" in one)
    assert "inode 1 of 253:6" in note


@pytest.mark.parametrize(
    ("name", "lost", "text"),
    [
        ("overrun.pftrace", 5000, "at least 5,000 events: THE RESULT IS INCOMPLETE"),
        ("overwritten.txt", 50_000, "at least 50,000 events: THE RESULT IS INCOMPLETE"),
        ("mmcqd.txt", 0, "0 events"),
        ("plain.txt", None, "unknown: this text does not count them"),
        ("kworker.pftrace", None, "unknown: the trace has no ftrace_stats of its end"),
    ],
)
def test_losses_are_counted_or_unknown(name, lost, text):
    recording = load_any(DATA / name, "all")
    assert (lost_events(recording), losses_text(recording)) == (lost, text)
    prediction = predict_by(recording)
    assert prediction.document().lost_events == lost
    assert any("lost" in one for one in prediction.doubts) == (lost != 0)


def test_few_pages_of_a_trace_with_losses_are_no_reason_for_a_verdict():
    prediction = predict_by(found("overwritten.txt"))
    assert prediction.verdict.action == "measure"
    assert prediction.verdict.why.startswith("only 6 pages accessed, but at least 50,000 events")


def test_the_window_is_that_in_the_readahead_events():
    recording = found("ra-events.txt")
    assert (recording.recorded_read_ahead_kb, recording.windows.event) == (
        8192,
        "page_cache_sync_ra",
    )
    assert recording.contaminated
    total = predict_by(recording).total
    assert total.current_read_ahead_kb == 8192
