"""``foreread script`` of traces that have the numbers of their disks only."""

from pathlib import Path

import pytest

from foreread.cli.main import main

TESTS = Path(__file__).parents[2]
PERFETTO = str(TESTS / "analyzer/apply/data/foreign-disk/start.pftrace")
TRACE_DAT = str(TESTS / "analyzer/ingest/data/ftrace/v7-zstd.trace.dat")
PERF_TEXT = str(TESTS / "analyzer/ingest/data/perf/file.script.txt")
EACH = pytest.mark.parametrize(
    ("trace", "dev"), [(PERFETTO, "254:6"), (TRACE_DAT, "254:0"), (PERF_TEXT, "7:2")]
)


def made(trace, tmp_path, *options):
    words = ["script", "--pid", "all", "--read-ahead-kb", "32", trace, "-o", str(tmp_path / "boot")]
    return main([*words, *options])


@EACH
def test_a_number_is_not_taken_for_a_name(trace, dev, tmp_path, capsys):
    assert made(trace, tmp_path) == 1
    said = capsys.readouterr().err
    assert f"has the number of its disk only ({dev})" in said
    assert f"--disk {dev}=NAME" in said
    assert f"/sys/dev/block/{dev}" in said
    assert not list(tmp_path.iterdir())


@EACH
def test_a_disk_that_the_user_names_is_set(trace, dev, tmp_path):
    assert made(trace, tmp_path, "--disk", f"{dev}=dm-6") == 0
    script = (tmp_path / "boot/foreread-apply").read_text()
    assert "\tdisk 'dm-6'\n" in script
    assert dev not in script


def test_a_mount_point_names_a_disk_whose_number_changes(tmp_path):
    assert made(PERFETTO, tmp_path, "--disk", "254:6=/system") == 0
    script = (tmp_path / "boot/foreread-apply").read_text()
    assert "\tfiles_on '/system'\n\tknob always 'read_ahead_kb' '32'" in script
    assert "254:6" not in script


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("254:6=254:6", "'254:6' is not the name of a disk"),
        ("254:6=/a b", "cannot look for a file system mounted on '/a b'"),
        ("254:7=dm-0", "name one of these disks: 254:6"),
    ],
)
def test_a_wrong_name_writes_nothing(named, message, tmp_path, capsys):
    assert made(PERFETTO, tmp_path, "--disk", named) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["dm-6", "=dm-6", "254:6="])
def test_a_disk_without_number_or_name_is_wrong_usage(text, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        made(PERFETTO, tmp_path, "--disk", text)
    assert "is not DEV=NAME" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["prefetch", "layout"])
def test_lists_need_the_paths_that_a_foreign_trace_lacks(command, tmp_path, run):
    said = run(command, "--pid", "all", PERFETTO, "-o", tmp_path / "out", code=1).err
    assert "the recording has no path of a file that was read" in said


@pytest.mark.thorough
def test_a_report_names_no_knob_of_a_disk_without_a_name(tmp_path):
    assert main(["report", "--pid", "all", PERFETTO, "-o", str(tmp_path)]) == 0
    assert "/sys/block/254:6" not in (tmp_path / "index.html").read_text()
