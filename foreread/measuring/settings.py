"""The settings of the two runs of a pair: the board's own, and the proposed ones."""

from __future__ import annotations

from dataclasses import replace

from foreread.analyzer.predict.proposal import Proposal
from foreread.measuring.advice_row import Advised
from foreread.measuring.pairs import Windows
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import Metadata
from foreread.tracer.trials.beside import Later
from foreread.tracer.trials.trial import Scenario, TrialBench


def choose_windows(
    bench: TrialBench,
    capture: Metadata,
    proposal: Proposal,
    row: Advised | None,
    scenario: Scenario,
    memory_kib: int | None = None,
) -> Windows:
    """Return the settings to compare, with the load of ``scenario`` and ``memory_kib`` of memory.

    The present windows are the board's or, if it already has the proposed ones, the windows before
    the recording. A ``row`` of advice may leave them as they are.
    """
    present = bench.probe(bench.windows)
    wanted = {knob: str(_for_knob(knob, proposal)) for knob in bench.windows}
    if row is not None and row.change:
        changed = _with_change(bench, present, wanted, row)
        return replace(changed, scenario=scenario, memory_kib=memory_kib)
    if present == wanted:
        before = {
            f"/sys/block/{device.name}/queue/read_ahead_kb": device.read_ahead_kb_before
            for device in capture.devices
        }
        before |= {
            stack.knob: stack.read_ahead_kb
            for stack in capture.stacks
            if stack.read_ahead_kb is not None
        }
        present = {knob: str(before.get(knob, value)) for knob, value in present.items()}
    if present == wanted:
        raise RecordError(
            f"the board uses the proposed window already, {proposal.read_ahead_kb} KiB, as in "
            "the capture",
            "test another window with --read-ahead-kb K",
        )
    main = bench.windows[0]
    _check_numbers(present)
    return Windows(
        tuple(present.items()),
        tuple(wanted.items()),
        int(present[main]),
        proposal.read_ahead_kb,
        scenario,
        memory_kib=memory_kib,
    )


def _for_knob(knob: str, proposal: Proposal) -> int:
    named = (kb for disk, kb in proposal.by_disk.items() if f"/{disk}/" in knob)
    return next(named, proposal.read_ahead_kb)


def _with_change(
    bench: TrialBench, present: dict[str, str], wanted: dict[str, str], row: Advised
) -> Windows:
    """Return the settings to compare where more than a window is changed."""
    _check_numbers(present)
    main, wanted = bench.windows[0], present if row.read_ahead_kb is None else wanted
    later = tuple(
        Later(change.after_s, knob, str(change.read_ahead_kb), wanted[knob])
        for change in row.later
        for knob in bench.windows
    )
    return Windows(
        tuple(present.items()),
        (*row.settings, *wanted.items()),  # max_sectors_kb resets the window
        int(present[main]),
        int(wanted[main]),
        change=row.change,
        replays=row.replayer is not None,
        later=later,
        preloads=row.preload is not None,
    )


def _check_numbers(windows: dict[str, str]) -> None:
    if not all(value.isdecimal() for value in windows.values()):
        raise RecordError("cannot read the windows of the board", "run foreread doctor")
