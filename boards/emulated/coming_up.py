"""Waits until a live board is up, and reports the last step reached if that fails."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from foreread.boards.emulated.error import BoardError
from foreread.boards.emulated.launch import LOG, QEMU_LOG, LiveOptions, Process
from foreread.boards.emulated.qemu import PANIC
from foreread.boards.ssh import SshTarget
from foreread.boards.target import TargetError

_SHOWN_LINES = 5
_POLL_S = 0.1
_ANSWER_S = 10
# The guest's messages (guest/*.sh) at the beginning of a step, and the step's description.
_SAID = re.compile(r"^board: ([a-z ]+)\r?$", re.MULTILINE)
_STEPS = {
    "modules": "loading the kernel's modules",
    "slow disk": "filling the slow disk",
    "root": "mounting the root",
    "init": "starting init",
    "network": "starting the ssh server",
    "ssh": "logging in by ssh",
}
_FAILED = re.compile(r"^board: failed: ([^\r\n]*)", re.MULTILINE)


def wait(
    target: Callable[[], SshTarget], process: Process, folder: Path, options: LiveOptions
) -> None:
    """Return once the board answers; raises BoardError, which names the step that failed."""
    end = time.monotonic() + options.time_out_s
    while True:
        output = _text(folder / LOG)
        if process.poll() is not None:
            raise _failure("QEMU ended", output, _text(folder / QEMU_LOG))
        if failure := PANIC.search(output) or _FAILED.search(output):
            raise _failure(failure[1], output)
        if step(output) == "ssh" and (not options.network or _answers(target)):
            return
        if time.monotonic() > end:
            raise _failure(f"it was not up after {options.time_out_s:g} s", output)
        time.sleep(_POLL_S)


def step(output: str) -> str | None:
    """Return the last step that the board has begun, None if its kernel is not up yet."""
    steps = [name for name in _SAID.findall(output) if name in _STEPS]
    return steps[-1] if steps else None


def _failure(what: str, output: str, qemu_said: str = "") -> BoardError:
    began = step(output)
    doing = _STEPS[began] if began else "booting the kernel"
    lines = [line.strip() for line in (output + qemu_said).splitlines() if line.strip()]
    last = " | ".join(lines[-_SHOWN_LINES:]) or "nothing"
    return BoardError(
        f"the board failed at {doing}: {what}; its last output: {last}",
        "try more memory (--memory-mib), or more time on a slow machine (--time-out)",
    )


def _answers(target: Callable[[], SshTarget]) -> bool:
    with target() as open_target:
        try:
            return open_target.run(["true"], timeout_s=_ANSWER_S).status == 0
        except TargetError:
            return False


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return ""
