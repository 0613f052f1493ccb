"""The contract of every reading command, on the real capture in examples/."""

import gzip
import json
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from json_outputs import validator

from foreread.cli.main import main
from foreread.emulator.reference.fixed_window import fixed_window_at

ROOT = Path(__file__).parents[3]
CAPTURE = ROOT / "examples/python-start/python-start.capture.tar.xz"
BOARD = ROOT / "tests/foreread/data/arm64-madplay/arm64-madplay.capture.tar.xz"  # its disk: arm64
SWEEP = ROOT / "examples/python-start/python-start.sweep.json"
BEFORE = ROOT / "tests/foreread/data/no-scheduler"  # the same start, by an older foreread


@cache
def run(*words):
    """Return what a command prints; the same command runs once."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = main([str(word) for word in words])
    assert code == 0, err.getvalue()
    return out.getvalue()


def test_predict_document():
    document = json.loads(run("predict", "--model", "fixed", "--json", CAPTURE))
    assert document["schema"] == 1
    assert document["kernel"].startswith("6.18")
    assert (document["page_size"], document["model"]) == (4096, "fixed")
    assert (document["recorded_read_ahead_kb"], document["contaminated"]) == (0, False)
    assert document["verdict"]["action"] == "measure"  # the fixed window has no seconds
    assert document["published"]["action"] == "set"
    keys = {"tap", "windows", "read_ahead_kb", "F", "G", "G_formula", "pages", "C_opt",
            "seconds", "quasi_optimal", "predicted_best"}  # fmt: skip
    for curve in (*document["devices"], document["total"]):
        assert keys <= set(curve)
        assert curve["windows"] == list(range(1024))
        assert curve["read_ahead_kb"] == [4 * w for w in range(1024)]
        assert curve["F"][0] == curve["tap"] == curve["pages"][0]
        assert curve["quasi_optimal"] == curve["C_opt"].index(min(curve["C_opt"]))
        for w, f, g, g_formula, pages, c in zip(
            *(curve[k] for k in ("windows", "F", "G", "G_formula", "pages", "C_opt")), strict=True
        ):
            assert g == pages - curve["tap"]
            assert g_formula == f * (w + 1) - curve["tap"]
            assert c == f**2 + g_formula**2


def test_the_kernels_own_readahead_answers_unless_another_is_asked_for():
    """The published criterion stays beside it, as published."""
    windows = ("--windows", "0,8,32,128")
    fixed = json.loads(run("predict", "--json", "--model", "fixed", *windows, CAPTURE))
    document = json.loads(run("predict", "--json", *windows, CAPTURE))
    assert document["model"].startswith("linux-6.18")
    assert document["total"]["F"] != fixed["total"]["F"]
    for key in ("C_opt", "G_formula", "quasi_optimal", "tap"):
        assert document["total"][key] == fixed["total"][key]


def test_the_verdict_comes_first_and_the_output_is_short():
    lines = run("predict", CAPTURE).splitlines()
    assert lines[0] == "verdict: set read_ahead_kb=32"
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 100
    assert lines[-1].startswith("more: --verbose")
    basis = [line for line in lines if line.startswith(("rests on: ", " " * 10))]
    assert 1 < len(basis) <= 4
    assert not [line for line in lines if line.startswith("note: ")]


def test_verbose_has_every_table_and_note():
    said = run("predict", "--verbose", CAPTURE)
    assert said.startswith("verdict: set read_ahead_kb=32\n")
    for name in ("loop0: 3,481", "vda: 32", "total: 3,513"):
        assert f"\n{name} pages accessed; metadata at every window: " in said
    assert "\npublished criterion F² + G²: 8 KiB, 1.769 s\n" in said
    assert "quasi-optimal" in said
    document = json.loads(run("predict", "--json", CAPTURE))
    assert document["notes"]
    assert [note for note in document["notes"] if note not in said] == []


@pytest.mark.thorough
def test_what_the_seconds_rest_on_comes_before_the_notes_of_the_criterion():
    said = run("predict", "--verbose", "--windows", "0,4,8,32,128,2560", CAPTURE)
    assert (
        ": limited to 1,000 requests/s" in said[said.index("rests on: ") : said.index("\nnote: ")]
    )
    notes = json.loads(run("predict", "--json", CAPTURE))["notes"]
    assert [n for n, note in enumerate(notes) if "local minima" in note] == [len(notes) - 1]


@pytest.mark.thorough
def test_total_is_the_sum_of_the_devices():
    document = json.loads(run("predict", "--json", "--windows", "0,8,8k,128", CAPTURE))
    assert document["total"]["windows"] == [0, 2, 32]
    for key in ("F", "G", "pages"):
        columns = zip(*(curve[key] for curve in document["devices"]), strict=True)
        assert document["total"][key] == [sum(column) for column in columns]


@pytest.mark.parametrize("window", [0, 2, 33])
def test_prediction_equals_the_plain_reference(window):
    from foreread.analyzer.ingest.load import load

    recording = load(CAPTURE)
    size = recording.files["size_bytes"]
    file_pages = [-1 if s < 0 else -(-int(s) // 4096) for s in size]
    columns = (recording.accesses[name].tolist() for name in ("file", "page"))
    expected = fixed_window_at(list(zip(*columns, strict=True)), file_pages, window)
    document = json.loads(run("predict", "--json", "--model", "fixed", CAPTURE))
    at = document["total"]
    assert (at["F"][window], at["pages"][window]) == expected


def test_show_document():
    document = json.loads(run("show", "--json", CAPTURE))
    assert document["cold"] is True
    assert sum(document["lost"].values()) == 0
    files = document["files"]
    assert document["accesses"] == sum(file["pages_accessed"] for file in files)
    assert any(str(file["path"]).endswith("/bin/python3.11") for file in files)
    assert sum(document["requests_by_sectors"].values()) > 0


def test_validate_document():
    document = json.loads(run("predict", "--json", CAPTURE, "--measured", SWEEP))
    points = json.loads(SWEEP.read_text())["points"]
    assert [p["read_ahead_kb"] for p in document["points"]] == [p["read_ahead_kb"] for p in points]
    seconds = {p["read_ahead_kb"]: sorted(p["seconds"])[1] for p in points}
    default = json.loads(SWEEP.read_text())["default_read_ahead_kb"]
    chosen = document["quasi_optimal_read_ahead_kb"]
    regret = (seconds[chosen] - min(seconds.values())) / seconds[default]
    assert regret > 0.5
    assert document["regret_quasi_optimal"] == pytest.approx(regret)
    proposed = document["proposed_read_ahead_kb"]
    assert document["chosen_read_ahead_kb"] == proposed
    assert seconds[proposed] == min(seconds.values())
    assert document["regret"] == document["regret_proposed"] == 0
    assert document["seconds_error_median"] < 0.03


def test_seconds_that_are_unknown_are_not_compared():
    capture = BEFORE / "no-scheduler.capture.tar.xz"
    sweep = BEFORE / "no-scheduler.sweep.json"
    document = json.loads(run("predict", "--json", capture, "--measured", sweep))
    assert document["regret_quasi_optimal"] > 0.5
    assert document["chosen_read_ahead_kb"] is document["proposed_read_ahead_kb"] is None
    assert document["regret"] is document["regret_proposed"] is None
    assert document["seconds_error_median"] is None


def test_the_first_answer_is_the_window_that_was_measured_to_be_fastest(tmp_path):
    """F² + G² chooses 8 KiB, which takes 56 % of the default's time longer."""
    said = json.loads(run("predict", "--json", CAPTURE))["verdict"]
    points = json.loads(SWEEP.read_text())["points"]
    fastest = min(points, key=lambda point: sorted(point["seconds"])[1])
    assert (said["action"], said["by"]) == ("set", "seconds")
    assert said["read_ahead_kb"] == fastest["read_ahead_kb"]
    written = json.loads(run("script", "--json", CAPTURE, "-o", tmp_path / "boot"))
    settings = [(setting["knob"], setting["value"]) for setting in written["settings"]]
    assert settings == [("queue/read_ahead_kb", str(fastest["read_ahead_kb"]))]
    assert (tmp_path / "boot/foreread-apply").stat().st_mode & 0o111


def test_several_captures_of_one_start():
    words = ["--json", "--windows", "0,32,128", "--device-model", "arm64"]
    one = json.loads(run("predict", BOARD, *words))
    two = json.loads(run("predict", BOARD, BOARD, *words))
    assert one["total"]["seconds"] == two["total"]["seconds"]
    assert any("medians over 2 captures" in note for note in two["notes"])
    for low, at, high in zip(
        *(two["total"][key] for key in ("seconds_low", "seconds", "seconds_high")), strict=True
    ):
        assert low < at < high
    assert one["verdict"]["by"] == "seconds"
    assert one["doubts"] == []


@pytest.mark.parametrize("model", [["--model", "fixed"], []])
def test_several_captures_need_seconds(capsys, model):
    other = ROOT / "tests/analyzer/ingest/data/ftrace/trace.txt"
    words = ["predict", *model, CAPTURE, CAPTURE if model else other]
    assert main([str(word) for word in words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_script_sets_the_predicted_window(tmp_path):
    for words in (["--criterion", "published"], ["--device-model", "arm64"]):
        said = json.loads(run("predict", "--json", *words, BOARD))["verdict"]
        out = tmp_path / "boot"
        written = json.loads(run("script", "--json", *words, BOARD, "-o", out))
        assert [s["value"] for s in written["settings"]] == [str(said["read_ahead_kb"])]


def test_no_window_is_recommended_while_the_disk_is_unknown(capsys, tmp_path):
    """F² + G² chooses 8 KiB, which takes 68 % of the default's time longer than the best."""
    capture = BEFORE / "no-scheduler.capture.tar.xz"
    said = json.loads(run("predict", "--json", capture))["verdict"]
    assert (said["action"], said["read_ahead_kb"], said["by"]) == ("measure", None, None)
    out = tmp_path / "boot"
    assert main(["script", str(capture), "-o", str(out)]) == 1
    refused = capsys.readouterr().err
    assert refused.count("\n") == 1
    assert refused.endswith(f"{said['remedy']}\n")
    assert not out.exists()


def test_its_limiter_is_not_distinguishable_from_computing(tmp_path):
    """The capture is older than recordings of the scheduler: by its replay 4 KiB looks as good."""
    capture = BEFORE / "no-scheduler.capture.tar.xz"
    limits = tmp_path / "limits.toml"
    limits.write_text('kind = "paced"\nrequests_per_second = 1000\nbytes_per_second = 20000000\n')
    words = ("--windows", "0,8,128", "--device-model", limits)
    document = json.loads(run("predict", "--json", *words, capture))
    assert document["verdict"]["action"] == "measure"
    assert "scheduler events" in document["verdict"]["why"]
    assert document["verdict"]["remedy"].startswith("foreread record -o again.capture -- ")
    assert document["total"]["seconds"] is None


def test_a_report_is_written(example_report):
    validator("report-figures").validate(json.loads((example_report / "report.json").read_text()))
    for name in ("index.html", "report.pdf", "report.json", "seconds.png"):
        assert (example_report / name).stat().st_size > 0


def test_show_is_short_and_verbose_has_the_rest():
    shown = run("show", "--by", "wasted", CAPTURE)
    assert "requests at 2560 KiB" in shown  # the window of the board, not the published criterion's
    lines = run("show", CAPTURE).splitlines()
    assert "3,513 pages of 223 files accessed in 3.668 s, cold, 0 events lost" in lines[0]
    assert len(lines) <= 25
    assert lines[-1].startswith("more: --verbose")
    said = run("show", "-v", CAPTURE)
    for part in ("\nevents      ", "\nKiB a read", "\nfrom s", "\nnote: the kernel has no event"):
        assert part in said
    assert len(said.splitlines()) > 70


def test_predict_measured_says_first_whether_the_predicted_window_is_the_fastest():
    lines = run("predict", CAPTURE, "--measured", SWEEP).splitlines()
    best = (
        "the predicted window is the fastest measured: 32 KiB (0.980 s); now, 2,560 KiB (1.282 s)"
    )
    assert lines[:2] == [best, "predicted seconds are off by 1.5 % in the median, 6.6 % at most"]
    assert len(lines) <= 25
    assert "regret" in run("predict", "-v", CAPTURE, "--measured", SWEEP)


def test_the_answer_of_a_tuning_names_the_genes_to_set(tmp_path):
    tuning = tmp_path / "php.tuning"
    tuning.write_bytes(
        gzip.decompress((ROOT / "examples/php-start/php-start.tuning.gz").read_bytes())
    )
    lines = run("show", tuning).splitlines()
    assert lines[0].startswith("set 1 gene: time -8.0 % (-8.6 to -7.5) against the default")
    assert lines[1].startswith("  read_ahead_kb = 96 (default 128), proven alone: -8.0 %")
    assert len(lines) <= 25
    said = run("show", "--verbose", tuning)
    assert "no settings beat these in every column" in said
    assert "not tuned, it cannot act: no run reclaimed memory: swappiness" in said
