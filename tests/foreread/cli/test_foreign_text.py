"""Commands on texts of other tools: windows that are known alone, and the page size."""

from pathlib import Path

import pytest

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.basis import Answer, lacking

ROOT = Path(__file__).parents[3]
BROUGHT = ROOT / "tests/analyzer/ingest/data/brought"
PI = str(BROUGHT / "pages-of-16-kib.txt")


@pytest.mark.parametrize("name", ["draft-format", "pages-of-16-kib", "counter"])
def test_show_has_no_figures_of_a_window_that_the_trace_does_not_name(name, run, run_json):
    path = str(BROUGHT / f"{name}.txt")
    shown = run("show", path).out
    assert "accessed  of pages  file" in shown
    assert "requests at" not in shown
    document = run_json("show", path)
    assert document["window"] is None
    assert {(file["requests"], file["pages_wasted"]) for file in document["files"]} == {
        (None, None)
    }


def test_show_cannot_sort_by_pages_of_an_unknown_window(run):
    assert "remove --by wasted" in run("show", PI, "--by", "wasted", code=2).err


def test_predict_names_windows_of_pages_of_16_kib(run_json):
    document = run_json("predict", PI, "--windows", "128k")
    assert document["page_size"] == 16384
    assert (document["total"]["read_ahead_kb"], document["total"]["F"]) == ([128], [5])


def test_an_assumed_page_size_is_said_once(tmp_path, run, run_json):
    insert = "mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=0x1 ofs={} order=0"
    path = tmp_path / "trace.txt"
    path.write_text(
        "".join(f"  app-7  [001] ..... 1.{n:06}: {insert.format(n * 16384)}\n" for n in range(20))
    )
    for command in ("show", "predict"):
        assert run(command, path).out.count("16384 bytes") == 1
        assert "16384 bytes" not in run(command, path, "--page-size", "16k").out
    assert run_json("show", path)["page_size_assumed"]


@pytest.mark.parametrize(("cut", "share", "withheld"), [(1, "0.01", False), (9, "0.083", True)])
def test_unread_events_make_a_prediction_less_certain(cut, share, withheld, tmp_path, run_json):
    line = "  app-7  [001] ..... 1.{:06}: mm_filemap_add_to_page_cache: dev 8:1 ino 2a {}\n"
    path = tmp_path / "trace.txt"
    good = [line.format(n, f"pfn=0x1 ofs={n * 4096} order=0") for n in range(99)]
    path.write_text("".join(good) + line.format(99, "pfn=0x") * cut)
    doubt = f"events that could not be read are {share} of those needed"
    document = run_json("predict", path)
    assert [text.partition(":")[0] for text in document["doubts"] if "read are" in text] == [doubt]
    assert any(f"({cut} mm_filemap_add_to_page_cache)" in note for note in document["notes"])
    whys = lacking(load(path), Answer.CRITERION)
    assert any(why.startswith(doubt) for why in whys) == withheld


@pytest.mark.parametrize(("given", "size"), [("4096", 4096), ("8k", 8192), ("16384", 16384)])
def test_the_page_size_may_be_given(given, size, run_json):
    document = run_json("show", PI, "--page-size", given)
    assert document["page_size"] == size
    assert document["accesses"] == 40
    assert not document["page_size_assumed"]


def test_a_page_size_that_cannot_be_is_an_error_of_the_trace(run):
    assert "--page-size 16384" in run("show", PI, "--page-size", "64k", code=1).err


@pytest.mark.parametrize("wrong", ["5000", "2k", "128k", "-1", "x", ""])
def test_page_sizes_of_no_kernel_are_wrong_usage(wrong, run):
    assert "16384" in run("show", PI, f"--page-size={wrong}", code=2).err
