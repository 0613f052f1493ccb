"""A scratch board: the files of /sys, /proc, /run and /dev that the boot script touches."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from scratch_roots import below
from shells import BASH, BUSYBOX, DASH, each_shell
from waiting import left_s

from foreread.analyzer.apply import ApplyPlan, Board, Disk, Setting, write_scripts

DISK = Disk("mmcblk0", 7_818_182_656, "SD8GB")
BOARD = Board("armv7l", "6.1", "Some Board 3")


def settings(**changes):
    """The usual plan: one disk and its window, 2048 while booting and 512 after."""
    plan = ApplyPlan(
        settings=(
            Setting("queue/read_ahead_kb", "2048", "predicted best", DISK),
            Setting("queue/read_ahead_kb", "512", "asked for", DISK, "after"),
        ),
        board=BOARD,
        created_from="a run of app",
    )
    return replace(plan, **changes)


class ScratchBoard:
    """Runs a generated script with all its paths below ``root``."""

    def __init__(self, root: Path, shell: tuple[str, ...]) -> None:
        self.root = root
        name, *options = shell
        self.command = [shutil.which(name) or name, *options]
        self.err = ""
        self.add_disk("mmcblk0", sectors=DISK.size_bytes // 512, model="SD8GB")
        self.put("proc/cmdline", "console=ttyS0 quiet")
        self.put("proc/cpuinfo", "processor\t: 0\nmodel name\t: ARMv7 rev 4\n\nHardware\t: BCM2711")
        self.put("proc/sys/kernel/osrelease", "6.1.25-vendor")
        self.put("proc/sys/kernel/arch", "armv7l")
        self.put("proc/sys/vm/swappiness", "60")
        self.put("proc/meminfo", "MemTotal:         65536 kB")
        self.path("proc/device-tree").mkdir()
        self.path("proc/device-tree/model").write_bytes(b"Some Board 3\0")
        self.path("proc/device-tree/compatible").write_bytes(b"acme,three\0acme,soc\0")
        self.put("dev/kmsg", "")
        self.path("run").mkdir()

    def path(self, name: str) -> Path:
        return self.root / name

    def put(self, name: str, text: str) -> None:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text + "\n")

    def get(self, name: str) -> str:
        return self.path(name).read_text().rstrip("\n")

    def add_disk(self, name: str, sectors: int, model: str) -> None:
        self.put(f"sys/block/{name}/size", str(sectors))
        self.put(f"sys/block/{name}/device/name", model)
        self.put(f"sys/block/{name}/queue/read_ahead_kb", "128")
        self.put(f"sys/block/{name}/queue/scheduler", "none [mq-deadline] kyber")

    @property
    def window(self) -> str:
        return self.get("sys/block/mmcblk0/queue/read_ahead_kb")

    def install(self, plan: ApplyPlan) -> None:
        write_scripts(plan, self.root / "out")
        script = self.root / "out/foreread-apply"
        script.write_text(below(self.root, script.read_text()))

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            [*self.command, str(self.root / "out/foreread-apply"), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=left_s(),
            env={"PATH": os.environ["PATH"], **environment},
        )
        self.err = result.stderr
        return result

    def start(self, *arguments: str) -> None:
        assert self.run("start", *arguments).returncode == 0


@pytest.fixture(params=each_shell(of=(BUSYBOX, DASH, BASH)))
def board(request, tmp_path):
    """A scratch board with the usual script installed, under dash; thorough under each shell."""
    shell = request.param
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed: the boot script was not run under it")
    board = ScratchBoard(tmp_path, shell)
    board.install(settings())
    return board
