"""Commands on texts of other tools: windows that are known alone, and the page size."""

import json
from pathlib import Path

import pytest

from analyzer.ingest.load import load
from analyzer.predict.basis import Answer, lacking
from foreread.cli.main import main

ROOT = Path(__file__).parents[3]
BROUGHT = ROOT / "tests/analyzer/ingest/data/brought"
CAPTURE = ROOT / "examples/python-start/python-start.capture.tar.xz"
PI = str(BROUGHT / "pages-of-16-kib.txt")


@pytest.mark.parametrize("name", ["draft-format", "pages-of-16-kib", "counter"])
def test_show_has_no_figures_of_a_window_that_the_trace_does_not_name(name, capsys):
    path = str(BROUGHT / f"{name}.txt")
    assert main(["show", path]) == 0
    shown = capsys.readouterr().out
    assert "accessed  of pages  file" in shown
    assert "requests at" not in shown
    assert main(["show", path, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["window"] is None
    assert {(file["requests"], file["pages_wasted"]) for file in document["files"]} == {
        (None, None)
    }


def test_show_keeps_the_figures_of_a_window_that_is_known(capsys):
    assert main(["show", str(CAPTURE), "--files", "1"]) == 0
    assert "requests at 2560 KiB" in capsys.readouterr().out


def test_show_cannot_sort_by_pages_of_an_unknown_window(capsys):
    assert main(["show", PI, "--by", "wasted"]) == 2
    assert "remove --by wasted" in capsys.readouterr().err


def test_predict_names_windows_of_pages_of_16_kib(capsys):
    assert main(["predict", PI, "--windows", "128k", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["page_size"] == 16384
    assert (document["total"]["read_ahead_kb"], document["total"]["F"]) == ([128], [5])


def test_an_assumed_page_size_is_said_once(tmp_path, capsys):
    insert = "mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=0x1 ofs={} order=0"
    path = tmp_path / "trace.txt"
    path.write_text(
        "".join(f"  app-7  [001] ..... 1.{n:06}: {insert.format(n * 16384)}\n" for n in range(20))
    )
    for command in ("show", "predict"):
        assert main([command, str(path)]) == 0
        assert capsys.readouterr().out.count("16384 bytes") == 1
        assert main([command, str(path), "--page-size", "16k"]) == 0
        assert "16384 bytes" not in capsys.readouterr().out
    assert main(["show", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["page_size_assumed"]


@pytest.mark.parametrize(("cut", "share", "withheld"), [(1, "0.01", False), (9, "0.083", True)])
def test_unread_events_make_a_prediction_less_certain(cut, share, withheld, tmp_path, capsys):
    line = "  app-7  [001] ..... 1.{:06}: mm_filemap_add_to_page_cache: dev 8:1 ino 2a {}\n"
    path = tmp_path / "trace.txt"
    good = [line.format(n, f"pfn=0x1 ofs={n * 4096} order=0") for n in range(99)]
    path.write_text("".join(good) + line.format(99, "pfn=0x") * cut)
    doubt = f"events that could not be read are {share} of those needed"
    assert main(["predict", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [text.partition(":")[0] for text in document["doubts"] if "read are" in text] == [doubt]
    assert any(f"({cut} mm_filemap_add_to_page_cache)" in note for note in document["notes"])
    whys = lacking(load(path), Answer.CRITERION)
    assert any(why.startswith(doubt) for why in whys) == withheld


@pytest.mark.parametrize(("given", "size"), [("4096", 4096), ("8k", 8192), ("16384", 16384)])
def test_the_page_size_may_be_given(given, size, capsys):
    assert main(["show", PI, "--page-size", given, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["page_size"] == size
    assert document["accesses"] == 40
    assert not document["page_size_assumed"]


def test_a_page_size_that_cannot_be_is_an_error_of_the_trace(capsys):
    assert main(["show", PI, "--page-size", "64k"]) == 1
    assert "--page-size 16384" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["5000", "2k", "128k", "-1", "x", ""])
def test_page_sizes_of_no_kernel_are_wrong_usage(wrong, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["show", PI, f"--page-size={wrong}"])
    assert stop.value.code == 2
    assert "16384" in capsys.readouterr().err
