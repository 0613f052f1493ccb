"""Starts QEMU and waits for its end, normal or not."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foreread.boards.emulated.error import BoardError, require_tool
from foreread.boards.emulated.machines import Machine

PANIC = re.compile(r"Kernel panic - not syncing: ([^\r\n]*)")
_KILL_AFTER_S = 5
# By SIGTERM, and by SIGKILL, which also ends timeout itself.
_TIMED_OUT = (124, 137, -9)


@dataclass(frozen=True)
class Disk:
    """A raw file that the guest sees as the virtio disk with that serial."""

    serial: str
    path: Path
    writable: bool = False


@dataclass(frozen=True)
class Boot:
    """The files to boot; ``append`` are words to append to the kernel command line."""

    kernel: Path
    initrd: Path
    memory_mib: int
    append: str


def qemu_words(machine: Machine, boot: Boot, disks: Sequence[Disk], icount: str) -> list[str]:
    """Return the command line, without the serial port and the network."""
    words = [require_tool(machine.qemu, machine.qemu_package), "-nodefaults", "-display", "none"]
    words += ["-monitor", "none", *machine.options, "-accel", "tcg,thread=single", "-smp", "1"]
    words += ["-icount", icount, "-m", str(boot.memory_mib)]
    words += ["-kernel", str(boot.kernel), "-initrd", str(boot.initrd)]
    words += ["-append", f"console={machine.console} {boot.append}"]
    for disk in disks:
        # A flush would wait for this machine's disk, in the guest's time where idle time is real.
        mode = "read-only=off,cache=unsafe" if disk.writable else "read-only=on"
        drive = f"id={disk.serial},if=none,format=raw,{mode}"
        device = f"virtio-blk-{machine.bus},drive={disk.serial},serial={disk.serial}"
        words += ["-drive", f"{drive},file={escaped(disk.path)}", "-device", device]
    return words


def run_qemu(words: list[str], log: Path, time_out_s: float) -> None:
    """Run QEMU to its end with the console in ``log``; raises BoardError on a time-out.

    ``timeout`` runs QEMU and gets a signal when this process is killed, so that QEMU ends, too; -k
    because a stuck QEMU ignores SIGTERM. A signal that reaches ``timeout`` just after its fork ends
    only ``timeout``: QEMU then gets its own signal.
    """
    tied = [require_tool("setpriv", "util-linux"), "--pdeathsig", "TERM"]
    limit = [require_tool("timeout", "coreutils"), "-k", str(_KILL_AFTER_S), f"{time_out_s:.3f}"]
    if _wait([*tied, *limit, *tied, *words], log) in _TIMED_OUT:
        raise BoardError(
            f"the guest did not finish within {time_out_s:g} s{last_line(log)}",
            "allow more time with --time-out S, or check that its command ends",
        )


def _wait(words: list[str], log: Path) -> int:
    """Run a program to its end; on an interrupt, ``timeout`` passes our SIGTERM on."""
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
    panic = PANIC.search(text)
    if panic:
        return BoardError(
            f"the guest's kernel panicked: {panic[1]}", "try more memory with --memory-mib N"
        )
    return BoardError(
        f"the guest ended without a result{last_line(log)}", "try more memory with --memory-mib N"
    )


def last_line(log: Path) -> str:
    """Return the last output of a board, as the end of a message."""
    output = log.read_text(errors="replace").strip().splitlines()
    lines = [line for line in output if "terminating on signal" not in line]
    return f"; its last output: {lines[-1]}" if lines else "; it printed nothing"


def escaped(path: Path) -> str:
    """Return a path for a QEMU option, with commas doubled."""
    return str(path).replace(",", ",,")
