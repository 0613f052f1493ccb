"""Recordings by the target's recorder, on this machine: busybox ash and dash, no wire between."""

from __future__ import annotations

from pathlib import Path

from named_recordings import record_inodes
from shells import BUSYBOX
from waiting import left_s

from foreread.boards.target import LocalTarget
from foreread.tracer.remote.record import run_on
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions


def record_here(output, command, shell=BUSYBOX, inodes_of=None, **run):
    command = [str(word) for word in command]
    options = RecordOptions(RunOptions(command, allow_warm=True, **run), wait_s=left_s())
    return record_inodes(run_on(LocalTarget(), options, output, shell), inodes_of)


def record_beside(output, command, scenario, shell=BUSYBOX):
    """Record a command beside the load of a scenario."""
    run = RunOptions([str(word) for word in command], allow_warm=True)
    options = RecordOptions(run, wait_s=left_s(), scenario=scenario)
    return record_inodes(run_on(LocalTarget(), options, output, shell))


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
