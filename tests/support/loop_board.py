"""A board with a loop device of the running kernel: the boot script unchanged but for /run."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from loop_devices import attached
from waiting import left_s

from foreread.analyzer.apply import ApplyPlan, Board, Disk, Setting, write_scripts

IMAGE_BYTES = 3 << 20
KNOBS = ("scheduler", "read_ahead_kb", "nr_requests", "max_sectors_kb")


@contextmanager
def loop_device(image: Path) -> Iterator[str]:
    """Yield the name of a loop device on a new image."""
    image.write_bytes(b"\0" * IMAGE_BYTES)
    with attached(image) as name:
        yield name


class LoopBoard:
    """A loop device, and the script for it with /run replaced: another test may run one too."""

    def __init__(self, directory: Path, shell: tuple[str, ...], loop: str) -> None:
        self.directory = directory
        self.shell = shell
        self.name = loop
        self.disk = Disk(self.name, IMAGE_BYTES)
        self.queue = Path("/sys/block", self.name, "queue")
        self.run_directory = directory / "run"
        self.run_directory.mkdir()

    @property
    def script(self) -> Path:
        return self.directory / "foreread-apply"

    def install(self, *settings: Setting, **changes: object) -> None:
        """Write the script for these settings; ``changes`` are other fields of the plan."""
        series = ".".join(platform.release().split(".")[:2])
        plan = ApplyPlan(settings, Board(platform.machine(), series))
        write_scripts(replace(plan, **changes), self.directory)
        place = "\nrun=/run "
        text = self.script.read_text()
        assert place in text
        self.script.write_text(text.replace(place, f"\nrun={self.run_directory} "))

    def words(self, *words: str) -> list[str]:
        """Return the command line of the script."""
        return [*self.shell, str(self.script), *words]

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """Start the script, and do not wait for it."""
        # With INVOCATION_ID, as under systemd, the kernel log is left alone.
        environment = {**os.environ, "INVOCATION_ID": "test"}
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.words(*words), stdout=pipe, stderr=pipe, text=True, env=environment
        )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the script to its end."""
        process = self.begin(*words)
        out, err = process.communicate(timeout=left_s())
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def setting(self, knob: str, value: str, phase: str = "boot") -> Setting:
        """Return a setting of a knob of the disk's queue."""
        return Setting(f"queue/{knob}", value, "tested", self.disk, phase)

    def values(self) -> dict[str, str]:
        """Return the knobs that a setting may change."""
        return {knob: (self.queue / knob).read_text() for knob in KNOBS}
