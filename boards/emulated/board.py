"""An emulated board booted for cold runs of one command."""

from __future__ import annotations

import tempfile
from pathlib import Path

from foreread.boards import disks
from foreread.boards.emulated import guest_protocol, image
from foreread.boards.emulated.error import BoardError
from foreread.boards.emulated.guest_protocol import Result, RunPlan, TimedRun
from foreread.boards.emulated.initramfs import job_initramfs
from foreread.boards.emulated.parts import DEFAULT_PACKAGES, Parts
from foreread.boards.emulated.qemu import Boot, Disk, died, qemu_words, run_qemu

__all__ = ["DEFAULT_PACKAGES", "Board", "BoardRun", "RunPlan", "TimedRun"]

BoardRun = Result


class Board(Parts):
    """One architecture with one kernel and one set of application packages."""

    def run(self, plan: RunPlan) -> BoardRun:
        """Boot, make the planned cold runs of the command, and return their results."""
        image.check_file_system(plan.fs)
        disks.kind(plan.disk)
        boot, disk = self.boot_files(), self.image(plan.fs)
        check_memory(self, plan.memory_mib, disk)
        with tempfile.TemporaryDirectory(prefix="foreread-board-") as scratch:
            return self._boot(plan, boot, disk, Path(scratch))

    def _boot(self, plan: RunPlan, boot: Path, disk: Path, scratch: Path) -> BoardRun:
        result, initrd, log = scratch / "result", scratch / "initrd", scratch / "console"
        job = {
            "settings": guest_protocol.settings(plan),
            "command": guest_protocol.command_script(plan.command),
        }
        more = self.more_modules(image.modules_of(plan.fs))
        initrd.write_bytes((boot / "initramfs").read_bytes() + more + job_initramfs(job))
        with result.open("wb") as file:
            file.truncate(guest_protocol.RESULT_BYTES)
        disks = (Disk("image", disk), Disk("result", result, writable=True))
        # A reboot ends QEMU: so a guest never starts again after a panic or at its end.
        ends = ("-no-reboot", "-serial", "stdio", "-nic", "none", "-rtc", "clock=vm")
        start = Boot(boot / "kernel", initrd, plan.memory_mib, "quiet panic=-1 rdinit=/init")
        words = qemu_words(self.machine, start, disks, self.machine.icount(sleeps=False))
        run_qemu([*words, *ends], log, plan.time_out_s)
        board_run = guest_protocol.read_result(result, plan.command[0])
        if board_run is None:
            raise died(log)
        return board_run


def least_memory_mib(parts: Parts, disk: Path) -> int:
    """Return the least memory that boots the board; its disk is in memory."""
    return parts.machine.least_memory_mib + _mib(disk)


def check_memory(parts: Parts, memory_mib: int, disk: Path) -> None:
    """Raise BoardError if ``memory_mib`` is too little for a board with that disk."""
    least = least_memory_mib(parts, disk)
    if memory_mib < least:
        raise BoardError(
            f"{memory_mib} MiB are too little for {parts.machine.name}, whose disk takes "
            f"{_mib(disk)} MiB of it",
            f"use --memory-mib {least} or more",
        )


def _mib(disk: Path) -> int:
    return -(-disk.stat().st_size // (1 << 20))
