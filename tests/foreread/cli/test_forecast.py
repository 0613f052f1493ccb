"""``foreread forecast``: text, JSON and exit codes."""

import json
import shlex
from pathlib import Path

import pytest

import foreread
from foreread.cli.main import main

ROOT = Path(__file__).parents[3]
NEW = str(ROOT / "examples/python-start/python-start.capture.tar.xz")
OLD = str(ROOT / "tests/foreread/data/arm64-madplay/arm64-madplay.capture.tar.xz")
ENDING = ".capture.tar.xz"
RULES = ROOT / "examples/rules"
SUITE = [str(path) for path in sorted((ROOT / "tests/foreread/data/suite").glob("*.tar.xz"))]
BLIND = str(ROOT / "tests/foreread/data/no-scheduler/no-scheduler.capture.tar.xz")


def run(capsys, *words, code=0):
    assert main(["forecast", *words]) == code
    return capsys.readouterr()


def test_the_text_has_both_kernels_the_changes_and_what_to_set(capsys):
    said = run(capsys, OLD, "--model", "linux-7.2", "--device-model", "arm64", "--verbose").out
    lines = said.splitlines()
    assert (
        "rests on: window of slow0: 128 KiB now (the kernel's 128 KiB), 252 KiB then (twice "
        "max_sectors_kb of a rotational disk, from Linux 6.17 on)"
    ) in lines
    rows = [line for line in lines if line.startswith(("now ", "then ", "then, "))]
    assert [row.split("linux-")[0].strip() for row in rows] == [
        *("now", "then", "then, window of now", "then, best window")
    ]
    assert "change, alone" in said
    assert lines[0].startswith("forecast: slower: +0.0")
    assert lines[0].endswith(" s)")
    assert "  to keep the present time: set read_ahead_kb=128" in lines
    (command,) = [line for line in lines if line.startswith("  run: ")]
    assert shlex.split(command)[1:4] == ["foreread", "script", OLD]


def test_a_kernel_that_nobody_compared_widens_the_band_until_the_answer_is_uncertain(capsys):
    said = run(capsys, OLD, "--model", "linux-7.3", "--device-model", "arm64").out
    (answer,) = [line for line in said.splitlines() if line.startswith("forecast: ")]
    assert answer.startswith("forecast: slower: +0.0")
    assert answer.endswith("not certain, since the band contains 0)")


@pytest.mark.thorough
def test_the_command_that_it_advises_makes_a_boot_script(capsys, tmp_path, monkeypatch):
    said = run(capsys, NEW, "--model", "linux-6.12").out
    command = next(line for line in said.splitlines() if line.startswith("  run: "))
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[2:]) == 0
    assert "32" in (tmp_path / "boot/foreread-apply").read_text()


def test_json_is_the_library_s_result(capsys):
    document = json.loads(run(capsys, NEW, "--model", "linux-6.12", "--json").out)
    found = foreread.forecast(foreread.load(NEW), "linux-6.12")
    assert document == json.loads(found.to_json())
    assert document["schema"] == 1
    assert document["change"]["direction"] == "faster"
    assert [disk["name"] for disk in document["disks"]] == ["loop0", "vda"]


def test_a_disk_that_is_hardly_read_is_only_in_the_json(capsys):
    said = run(capsys, NEW, "--model", "linux-6.12").out
    assert "window of loop0: 2,560 KiB now" in said
    assert not any(line.startswith("window of vda") for line in said.splitlines())


def test_the_same_kernel_says_no_difference(capsys):
    said = run(capsys, NEW, "--model", "linux-6.18").out
    assert said.startswith("forecast: no difference\n")
    assert len(said.splitlines()) <= 25
    assert "change, alone" not in said


@pytest.mark.thorough
def test_known_windows_are_options(capsys):
    words = ("--read-ahead-kb-now", "32", "--read-ahead-kb-then", "64")
    document = json.loads(run(capsys, NEW, "--model", "linux-6.12", *words, "--json").out)
    assert (document["now"]["read_ahead_kb"], document["then"]["read_ahead_kb"]) == (32, 64)
    said = run(capsys, NEW, "--model", "linux-6.12", *words).out
    windows = "window of loop0: 32 KiB now (as given), 64 KiB then (as given)"
    assert f"\nrests on: {windows}\n" in said


def test_without_seconds_the_reason_and_the_command_are_printed(capsys):
    said = run(capsys, BLIND, "--model", "linux-5.10").out
    assert "forecast: no predicted seconds: the cost of the disk is unknown" in said
    assert "seconds  band" not in said
    assert f"&& foreread forecast {BLIND} --model linux-5.10 --device-model loop1.toml" in said


def test_an_unknown_kernel_is_doubtful(capsys):
    said = run(capsys, NEW, "--model", "linux-99.1").out
    assert "  doubt: Linux 99.1 is newer than the newest kernel" in said


def test_a_kernel_without_rules_is_an_error_with_its_remedy(capsys):
    said = run(capsys, NEW, "--model", "linux-2.4", code=1).err
    assert said.count("\n") == 1
    assert said.endswith("-- choose a model from linux-2.6.11 on\n")


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "linux"],
        ["--model", "fixed"],
        ["--model", "6.12"],
        [],
        ["--model", "linux-6.12", "--read-ahead-kb-now", "-1"],
        ["--model", "linux-6.12", "--read-ahead-kb-then", "4k"],
        ["--model", "linux-6.12", "--rules", "x.toml"],
        ["--rules", "x.toml", "--print-rules", "linux-6.12"],
    ],
    ids=" ".join,
)
def test_wrong_usage(capsys, words):
    with pytest.raises(SystemExit) as caught:
        main(["forecast", NEW, *words])
    assert caught.value.code == 2
    assert "usage: foreread forecast" in capsys.readouterr().err


def test_a_patch_is_a_table_of_all_starts_the_worst_loser_first(capsys):
    said = run(capsys, *SUITE, "--rules", str(RULES / "mapped-folios.toml")).out
    lines = said.splitlines()
    assert lines[0].startswith(f"patch of Linux 7.2: of {len(SUITE)} starts ")
    assert "  mapped_folio_kb: 0 -> 64" in lines
    head = next(n for n, line in enumerate(lines) if line.lstrip().startswith("change "))
    rows = [line.split() for line in lines[head + 1 : head + 2 + len(SUITE)]]
    changes = [float(row[0].replace(",", "")) for row in rows]
    assert changes[:-1] == sorted(changes[:-1], reverse=True)
    assert rows[-1][-1] == "all"
    names = [row[-1] for row in rows[:-1]]
    assert len(set(names)) == len(SUITE)
    assert {name.split("/")[-1] for name in names} == {
        Path(path).name.removesuffix(ENDING) for path in SUITE
    }
    assert "rests on: proposed in Use high-order folios in mmap sync RA" in said


@pytest.mark.thorough
def test_the_document_of_a_patch_has_all_figures(capsys):
    rules = str(RULES / "within-mapping.toml")
    document = json.loads(run(capsys, *SUITE, "--rules", rules, "--json").out)
    assert document["rules"] == [{"rule": "within_mapping", "base": "NONE", "patched": "ALL"}]
    assert sorted(start["capture"] for start in document["starts"]) == SUITE
    counted = document["slower"] + document["faster"] + document["same"]
    assert counted + document["unpredicted"] == len(SUITE)
    one = foreread.forecast_patch(foreread.load(SUITE[0]), foreread.read_patch(rules))
    (same,) = (start for start in document["starts"] if start["capture"] == SUITE[0])
    assert same["after"]["pages"] == one.after.pages
    assert same["change"]["seconds"] == one.change.seconds
    totals = [
        sum(start[side]["pages"] for start in document["starts"]) for side in ("before", "after")
    ]
    assert [document[side]["pages"] for side in ("before", "after")] == totals


def test_captures_that_cannot_be_used_are_named_and_the_others_forecast(capsys, tmp_path):
    damaged, absent = tmp_path / "damaged.capture.tar.xz", tmp_path / "absent"
    damaged.write_bytes(Path(SUITE[0]).read_bytes()[:2000])
    words = (str(damaged), SUITE[0], str(absent), "--rules", str(RULES / "within-mapping.toml"))
    said = run(capsys, *words, code=1).out
    assert "patch of Linux 7.2: of 1 start " in said
    left = [line for line in said.splitlines() if line.startswith("left out: ")]
    assert [line.count(str(path)) for line, path in zip(left, (damaged, absent), strict=True)] == [
        1,
        1,
    ]
    assert all(" -- " in line for line in left)
    document = json.loads(run(capsys, *words, "--json", code=1).out)
    assert [left["capture"] for left in document["left"]] == [str(damaged), str(absent)]
    assert all(left["why"] and left["remedy"] for left in document["left"])
    assert len(document["starts"]) == 1


@pytest.mark.thorough
def test_each_start_is_forecast_on_each_disk(capsys):
    disks = [str(ROOT / f"examples/device-models/{name}.toml") for name in ("fixed", "stateful")]
    words = [word for disk in disks for word in ("--device-model", disk)]
    rules = str(RULES / "within-mapping.toml")
    document = json.loads(run(capsys, *SUITE[:2], "--rules", rules, *words, "--json").out)
    found = [(start["capture"], start["device_model"]) for start in document["starts"]]
    assert sorted(found) == [(path, disk) for path in SUITE[:2] for disk in disks]


def test_without_seconds_the_reason_is_in_the_full_text(capsys):
    words = (BLIND, "--rules", str(RULES / "within-mapping.toml"))
    assert ", 1 without seconds" in run(capsys, *words).out
    said = run(capsys, *words, "--verbose").out
    name = BLIND.removesuffix(ENDING)
    assert f"no seconds: {name}: the cost of the disk is unknown" in said
    assert f"--rules {RULES / 'within-mapping.toml'} --device-model loop1.toml" in said


def test_a_wrong_file_of_rules_is_an_error_with_its_remedy(capsys, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text('base = "6.12"\n[change]\nmapped_order = 4\n')
    said = run(capsys, NEW, "--rules", str(path), code=1).err
    assert said.count("\n") == 1
    assert f"foreread: {path}: 'mapped_order' is not a rule" in said
    assert said.endswith("foreread forecast --print-rules linux-6.12\n")


def test_the_printed_rules_are_a_file_to_edit(capsys, tmp_path):
    said = run(capsys, "--print-rules", "linux-6.12").out
    path = tmp_path / "rules.toml"
    path.write_text(said.replace("exec_window = false", "exec_window = true"))
    document = json.loads(run(capsys, SUITE[0], "--rules", str(path), "--json").out)
    assert document["rules"] == [{"rule": "exec_window", "base": False, "patched": True}]
    assert document["base"] == "6.12"
    assert "linux-99.1" not in run(capsys, "--print-rules", "linux-99.1", code=1).out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--model", "linux-6.12"], "give a capture"),
        (["--rules", "x.toml"], "give a capture"),
        ([NEW, OLD, "--model", "linux-6.12"], "--model is about one capture and one disk"),
        (
            [NEW, "--model", "linux-6.12", "--device-model", "arm64", "--device-model", "armhf"],
            "--model is about one capture and one disk",
        ),
        ([NEW, "--print-rules", "linux-6.12"], "remove CAPTURE"),
        (["--print-rules", "linux-6.12", "--json"], "remove --json"),
        (
            [NEW, "--rules", "x.toml", "--read-ahead-kb-then", "64"],
            "remove --read-ahead-kb-then",
        ),
    ],
)
def test_arguments_that_do_not_go_together(capsys, words, why):
    assert why in run(capsys, *words, code=2).err
