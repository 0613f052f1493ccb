"""Windows and process filters as typed by users."""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.cli.arguments import UsageError, duration, percent, seconds, whole_number
from foreread.cli.arguments.capture import pid_filter
from foreread.cli.arguments.windows import parse_windows
from foreread.emulator import MAX_WINDOW


def test_windows_are_kib_and_become_pages():
    assert parse_windows("0,16-24,32k", 4096) == [0, 4, 5, 6, 8]
    assert parse_windows("64-128k", 65536) == [1, 2]


@pytest.mark.parametrize(
    "text", ["", "x", "8-4", "-4", "3", "4,,8", "70000", "4-", "0x4", "9" * 5000]
)
def test_invalid_input_is_refused(text):
    with pytest.raises(UsageError):
        parse_windows(text, 4096)


@given(st.text(max_size=20))
def test_any_text_gives_windows_or_a_usage_error(text):
    try:
        windows = parse_windows(text, 4096)
    except UsageError:
        return
    assert windows == sorted(set(windows))


def test_pid_filters():
    assert pid_filter("tree") == "tree"
    assert pid_filter("7,8") == frozenset({7, 8})


@pytest.mark.parametrize("text", ["7;8", "", "7,", "-1", "9" * 20, "9" * 5000])
def test_no_pid_filters(text):
    with pytest.raises(argparse.ArgumentTypeError):
        pid_filter(text)


def test_the_largest_window_is_the_emulators_and_a_larger_window_names_it():
    assert parse_windows(str(4 * MAX_WINDOW), 4096) == [MAX_WINDOW]
    with pytest.raises(UsageError, match=str(4 * MAX_WINDOW)):
        parse_windows(str(4 * MAX_WINDOW + 4), 4096)


@pytest.mark.parametrize(("text", "number"), [("5", 5), ("5%", 5), ("0", 0), ("100%", 100)])
def test_a_percentage_may_have_its_sign(text, number):
    assert percent(text) == number


@pytest.mark.parametrize("text", ["101", "%", "5%%", "nan", "-1%"])
def test_other_percentages_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError):
        percent(text)


@pytest.mark.parametrize("text", ["0", "11", "1_0", " 5", "+5", "", "9" * 5000])
def test_whole_numbers_out_of_range_or_form_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="write a number from 1 to 10"):
        whole_number(text, 1, 10)


def test_a_whole_number_in_range_is_read():
    assert [whole_number(text, 1, 10) for text in ("1", "10")] == [1, 10]


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "1e999", "", "2m"])
def test_times_that_never_come_are_refused(text):
    for kind in (seconds, duration):
        with pytest.raises(argparse.ArgumentTypeError, match="write a number"):
            kind(text)


def test_only_waiting_may_take_no_time():
    assert seconds("0") == 0
    assert duration("0.5") == 0.5
    with pytest.raises(argparse.ArgumentTypeError, match="10"):
        duration("0")
