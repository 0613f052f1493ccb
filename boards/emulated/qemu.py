"""Starts QEMU and waits for its end, however it comes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from boards.emulated.error import BoardError, require_tool
from boards.emulated.guest_protocol import RunPlan
from boards.emulated.machines import Machine

_PANIC = re.compile(r"Kernel panic - not syncing: ([^\r\n]*)")
_KILL_AFTER_S = 5
# By SIGTERM, and by SIGKILL: timeout then dies of it itself.
_TIMED_OUT = (124, 137, -9)


def qemu_words(
    machine: Machine, plan: RunPlan, kernel: Path, initrd: Path, disks: dict[str, Path]
) -> list[str]:
    """Return the command line; ``disks`` are raw files by serial, written to only if "result"."""
    # A reboot ends QEMU: so a guest that panics, or is done, never starts again.
    fixed = ["-no-reboot", "-display", "none", "-monitor", "none", "-nic", "none"]
    words = [require_tool(machine.qemu, machine.qemu_package), "-nodefaults", *fixed]
    words += [*machine.options, "-accel", "tcg,thread=single", "-smp", "1"]
    words += [*machine.icount, "-rtc", "clock=vm", "-m", str(plan.memory_mib)]
    words += ["-kernel", str(kernel), "-initrd", str(initrd), "-serial", "stdio"]
    words += ["-append", f"console={machine.console} quiet panic=-1 rdinit=/init"]
    for serial, path in disks.items():
        read_only = "off" if serial == "result" else "on"
        drive = f"id={serial},if=none,format=raw,read-only={read_only},file={_escaped(path)}"
        words += [
            "-drive",
            drive,
            "-device",
            f"{machine.disk_device},drive={serial},serial={serial}",
        ]
    return words


def run_qemu(words: list[str], log: Path, time_out_s: float) -> None:
    """Run QEMU to its end with the console in ``log``; raises BoardError on a time-out.

    ``timeout`` stands between and is told when this process is killed, so that QEMU ends then
    too; -k since a stuck QEMU ignores SIGTERM.
    """
    tied = [require_tool("setpriv", "util-linux"), "--pdeathsig", "TERM"]
    limit = [require_tool("timeout", "coreutils"), "-k", str(_KILL_AFTER_S), f"{time_out_s:.3f}"]
    if _wait([*tied, *limit, *words], log) in _TIMED_OUT:
        raise BoardError(
            f"the guest was not done after {time_out_s:g} s{_last_line(log)}",
            "give it more time with --time-out, or look whether its command ever ends",
        )


def _wait(words: list[str], log: Path) -> int:
    """Run a program to its end; if we are interrupted, ``timeout`` passes our SIGTERM on."""
    with (
        log.open("wb") as console,
        subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            return process.wait()
        except BaseException:
            process.terminate()
            raise


def died(log: Path) -> BoardError:
    """Return the error for a guest that ended without a result."""
    text = log.read_text(errors="replace")
    panic = _PANIC.search(text)
    if panic:
        return BoardError(f"the guest's kernel panicked: {panic[1]}", "try --memory-mib with more")
    return BoardError(
        f"the guest ended without a result{_last_line(log)}", "try --memory-mib with more"
    )


def _last_line(log: Path) -> str:
    said = log.read_text(errors="replace").strip().splitlines()
    lines = [line for line in said if "terminating on signal" not in line]
    return f"; it said last: {lines[-1]}" if lines else "; it said nothing"


def _escaped(path: Path) -> str:
    """Return a path for a QEMU option, in which a comma is doubled."""
    return str(path).replace(",", ",,")
