"""The program of a recorder: its version, and its reports about a recording."""

from __future__ import annotations

import os
import subprocess

from foreread.tracer.error import RecordError


def environment() -> dict[str, str]:
    """Return the environment for recorders: untranslated messages, no user's configuration."""
    return os.environ | {"LC_ALL": "C", "PERF_CONFIG": os.devnull}


def version_of(program: str) -> str:
    """Return the first line that ``PROGRAM --version`` prints, or an empty string."""
    done = _run([program, "--version"])
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return lines[0] if lines else ""


def help_of(program: str, command: str) -> str:
    """Return the options that ``PROGRAM COMMAND -h`` lists."""
    done = _run([program, command, "-h"])
    return done.stdout + done.stderr


def output_of(command: list[str]) -> str:
    """Return the output of ``command`` about a recording; RecordError when it cannot read it."""
    done = _run(command)
    if done.returncode != 0:
        why = " ".join(done.stderr.split())[:400]
        raise RecordError(
            f"{' '.join(command[:2])} cannot read the recording: {why}",
            "the recording is damaged: record again",
        )
    return done.stdout


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
