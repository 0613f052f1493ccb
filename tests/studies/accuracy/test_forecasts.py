"""studies/accuracy: pairs of kernels, their forecasts, and the table of them."""

import json

import pytest

from foreread.boards.emulated.machines import MACHINES
from studies.accuracy import cli, forecast_tables, on_boards, on_kernels
from studies.accuracy.store import Cell


def change(share, direction, low=-0.01, high=0.01):
    return {"share": share, "direction": direction, "seconds_low": low, "seconds_high": high}


@pytest.mark.parametrize(
    ("forecast", "runs", "right"),
    [
        (change(0.05, "slower"), [1.04, 1.04], True),
        (change(0.05, "slower"), [0.96, 0.96], False),
        (change(0.05, "slower"), [1.00, 1.00], False),
        (change(0.008, "same"), [1.04, 1.04], True),
        (change(0.0, "same"), [1.04, 1.04], False),
        (change(-0.001, "same"), [1.04, 1.04], False),
        (change(0.008, "same"), [1.009, 1.009], True),
        (change(-0.008, "same"), [1.009, 1.009], True),
        # The shortest runs differ by 6 %: a forecast of 5 % is within that noise.
        (change(0.05, "slower"), [0.99, 1.05], True),
        # A single disturbed run does not count as noise.
        (change(0.05, "slower"), [1.0, 1.0, 1.2], False),
        (change(-0.05, "faster"), [0.94, 0.96], True),
    ],
)
def test_the_sign_of_a_difference_counts_beyond_the_noise(forecast, runs, right):
    found = on_kernels.judged([1.0, 1.0], runs, forecast)
    assert found["right"] is right


def test_a_measured_difference_lies_in_the_band_or_not():
    judged = on_kernels.judged
    inside = judged([2.0], [2.1], change(0.04, "slower", low=0.0, high=0.2))
    outside = judged([2.0], [2.3], change(0.04, "slower", low=0.0, high=0.2))
    assert (inside["in_band"], outside["in_band"]) == (True, False)
    assert inside["share"] == pytest.approx(0.05)


def side(folder, name, seconds, found_kb=128):
    """Make a measured side of the shipped capture, with these runs at each window."""
    place = folder / name
    place.mkdir()
    (place / "capture").mkdir()
    unpacked = place / "capture/capture.json"
    unpacked.write_text(
        json.dumps({"devices": [{"name": "slow0", "read_ahead_kb_before": found_kb}]})
    )
    points = [{"read_ahead_kb": kb, "seconds": runs} for kb, runs in seconds.items()]
    (place / "sweep.json").write_text(json.dumps({"points": points}))
    return place


def test_a_pair_is_forecast_with_the_window_that_the_other_board_has(monkeypatch, tmp_path):
    asked = []

    def answered(self, *words):
        asked.append([str(word) for word in words])
        window = 128 if "--read-ahead-kb-then" in words else 252
        return {
            "now": {"read_ahead_kb": 128},
            "then": {"read_ahead_kb": window},
            "change": change(0.0, "same"),
            "causes": [],
        }

    monkeypatch.setattr(cli.Foreread, "json", answered)
    now = side(tmp_path, "now", {128: [1.0, 1.0], 252: [1.5]})
    then = side(tmp_path, "then", {128: [1.004, 1.0], 252: [9.0]})
    found = on_kernels.compared(now, then, "7.2", on_boards.SD)
    assert (found["windows_kb"], found["forecast_kb"]) == ([128, 128], 252)
    assert found["measured"]["right"]
    assert [words[-1] for words in asked] == [str(now / "sd.toml"), "128"]
    with pytest.raises(RuntimeError, match="was not measured at 512 KiB"):
        other = side(tmp_path, "other", {128: [1.0]}, found_kb=512)
        on_kernels.compared(now, other, "7.2", on_boards.SD)


def test_every_pair_follows_its_two_sides():
    names = [cell.name for cell in on_kernels.cells(on_boards.Live())]
    pairs = [name for name in names if "-to-" in name]
    assert len(pairs) == 2 * 3 * 12
    for name in pairs:
        now, _, kernel = name.rpartition("-to-")
        machine, _, application = now.split("-")
        for one in (now, f"{machine}-{kernel}-{application}"):
            assert names.index(one) < names.index(name)


def test_a_kernel_that_no_board_has_is_named(monkeypatch):
    monkeypatch.setattr(on_boards, "missing", lambda: None)
    cells = {cell.name: cell for cell in on_kernels.cells(on_boards.Live())}
    for kernel in on_kernels.KERNELS:
        why = cells[f"x86_64-{kernel}-perl"].missing()
        assert (why is None) == (kernel in MACHINES["x86_64"].kernels)


def test_the_table_counts_right_signs():
    cell = Cell("forecast", "a-to-b", "", dict)

    def pair(right, share):
        measured = {"share": share, "noise": 0.01, "direction": "slower", "right": right}
        measured |= {"in_band": right, "same_word": right}
        return {
            "pair": {
                "windows_kb": [128, 128],
                "forecast_kb": 252,
                "forecast": change(0.05, "slower"),
                "measured": measured,
            }
        }

    made = [(cell, pair(True, 0.05)), (cell, pair(False, -0.02)), (cell, {"runs": []})]
    lines = forecast_tables.lines(made)
    assert lines[2] == (
        "| a-to-b | 128, 128 (forecast: 252) | +5.00 % (slower) | +5.00 % (slower) | 1.0 % | right "
        "| yes |"
    )
    assert lines[-1] == (
        "- right sign: 1 of 2 pairs (missed: 90 %), the same word (faster, slower, same): 1; "
        "measured less forecast: 4.95 % rms; in the band: 1 of 2"
    )
    unknown = {"pair": {**made[0][1]["pair"], "forecast": None, "measured": None}}
    assert "1 of 2 pairs" in forecast_tables.lines([made[0], (cell, unknown)])[-1]
    assert forecast_tables.lines([(cell, {"runs": []})]) == []
