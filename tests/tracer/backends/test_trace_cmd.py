from __future__ import annotations

from pathlib import Path

import pytest

from foreread.tracer.backends import trace_cmd

# trace-cmd 3.1.6: trace-cmd report --stat, numbers changed to tell them apart.
STAT = """
cpus=2

Kernel buffer statistics:
  Note: "entries" are the entries left in the kernel ring buffer and are not
        recorded in the trace data. They should all be zero.

Buffer: foreread-1-2-x

CPU: 0
entries: 0
overrun: 5
commit overrun: 7
bytes: 999
oldest event ts:     0.000000
now ts:  1513.745274
dropped events: 11
read events: 99999

CPU: 1
entries: 0
overrun: 0
commit overrun: 0
dropped events: 0
read events: 3
"""


def test_overwritten_and_dropped_events_are_lost_ones() -> None:
    assert trace_cmd.parse_lost(STAT) == {0: 5 + 7 + 11}


def test_without_notes_no_event_was_lost() -> None:
    assert trace_cmd.parse_lost("") == {}


def test_files_that_can_be_written_need_no_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = tmp_path / "ftrace_enabled"
    switch.write_text("1\n")
    (tmp_path / "set_ftrace_filter").touch()
    monkeypatch.setattr(trace_cmd, "_FTRACE_ENABLED", switch)
    assert trace_cmd.unwritable(tmp_path) == []
    assert switch.read_text() == "1\n"


def test_a_switched_off_function_tracer_stays_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = tmp_path / "ftrace_enabled"
    switch.write_text("0\n")
    monkeypatch.setattr(trace_cmd, "_FTRACE_ENABLED", switch)
    assert trace_cmd.unwritable(tmp_path) == [switch]
    assert switch.read_text() == "0\n"


def test_denied_files_get_stand_ins_even_for_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "set_ftrace_pid").mkdir()  # no user can open a directory for writing
    monkeypatch.setattr(trace_cmd, "_FTRACE_ENABLED", tmp_path / "absent")
    assert trace_cmd.unwritable(tmp_path) == [tmp_path / "set_ftrace_pid"]


@pytest.mark.parametrize(
    ("version", "plain"),
    [("trace-cmd version 3.1.6", True), ("trace-cmd version 2.9.1", False), ("", False)],
)
def test_data_is_not_compressed_where_the_tool_would(
    version: str, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_cmd, "version_of", lambda _: version)
    command = trace_cmd.record_command("foreread-x", ["a:b"], 64, Path("out"))
    assert ("--compression" in command) == plain
    assert command[-2:] == ["-o", "out"]
    assert command.index("-B") < command.index("-e")  # events before it go to the top buffer
