"""An emulated board that is booted with the boot script on it, and an application.

The application is started by the board's init and writes down the window as its first act, so
that what is read here was in force before it opened a file. Times are the guest's.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from waiting import left_s, wait_until

from foreread.analyzer.apply import ApplyPlan, Board, Disk, Setting
from foreread.boards.target import Target
from foreread.tracer.install.install import uninstall
from foreread.tracer.install.manifest import MANIFEST

KNOB = "/sys/block/slow0/queue/read_ahead_kb"
CLOCK = "/sys/module/slowdisk/parameters/now_ns"
SCRIPT = "/usr/sbin/foreread-apply"
APPLICATION = f"""#!/bin/sh
read -r kb <{KNOB}
read -r begin <{CLOCK}
read -r requests_a _ sectors_a _ </sys/block/slow0/stat
madplay -Q -o null: -t 1 /sample.mp3
read -r end <{CLOCK}
read -r requests_b _ sectors_b _ </sys/block/slow0/stat
echo "$kb $((end - begin)) $((requests_b - requests_a)) $((sectors_b - sectors_a))" >/run/app.part
mv /run/app.part "/run/app-${{0##*/}}"
"""
UNITS = "/etc/systemd/system"


@dataclass(frozen=True)
class Start:
    """One start of the application, at the window that it found."""

    kb: int
    guest_ns: int
    requests: int
    sectors: int


class BootedBoard:
    """An emulated board with the application; what is installed is taken off after each test."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.put("/usr/bin/app", APPLICATION)
        if self.status("[ -d /run/systemd/system ]") == 0:
            self.add_unit("app", "/usr/bin/app")
        else:
            self.put("/etc/inittab", f"{self.text('/etc/inittab')}\n::once:/usr/bin/app\n", 0o644)

    def add_unit(
        self, name: str, command: str, lines: str = "", wanted: str = "multi-user"
    ) -> None:
        """Add and enable a service that runs ``command`` once; ``lines`` are of its [Unit]."""
        unit = (
            f"[Unit]\n{lines}\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart={command}\n"
        )
        self.put(f"{UNITS}/{name}.service", unit, 0o644)
        wants = f"{UNITS}/{wanted}.target.wants"
        self.sh(f"mkdir -p {wants}; ln -s {UNITS}/{name}.service {wants}/")

    def take_off(self) -> None:
        """Remove what is installed."""
        if self.status(f"[ -e {MANIFEST} ]") == 0:
            uninstall(self.target, force=True)
        assert self.files_of_foreread() == ""

    def put(self, path: str, text: str, mode: int = 0o755) -> None:
        """Write a file."""
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            self.target.push(Path(file.name), path, mode)

    def text(self, path: str) -> str:
        """Read a file."""
        return self.sh(f"cat {path}")

    def sh(self, line: str) -> str:
        """Run a line of shell, which must succeed, and return what it prints."""
        done = self.target.run(["sh", "-c", line], timeout_s=left_s())
        assert done.status == 0, (line, done)
        return done.stdout.decode().strip()

    def status(self, line: str) -> int:
        """Return the exit status of a line of shell."""
        return self.target.run(["sh", "-c", line], timeout_s=left_s()).status

    @property
    def kb(self) -> int:
        """The window now."""
        return int(self.target.read_knob(KNOB))

    @property
    def log(self) -> str:
        """What the kernel log says of foreread."""
        return self.sh("dmesg | grep foreread: || :")

    def boot(self) -> None:
        """Restart the board."""
        self.target.reboot(left_s())

    def start(self, name: str = "app") -> Start:
        """Return what the application wrote down at this boot, once it has."""
        wait_until(lambda: self.status(f"[ -e /run/app-{name} ]") == 0)
        return Start(*map(int, self.text(f"/run/app-{name}").split()))

    def plan(self, kb: int = 64, **changes) -> ApplyPlan:
        """Return a plan that fits this board."""
        size = int(self.target.read_knob("/sys/block/slow0/size")) * 512
        setting = Setting("queue/read_ahead_kb", str(kb), "tested", Disk("slow0", size))
        machine, release = self.sh("uname -mr").split()[::-1]
        board = Board(machine, ".".join(release.split(".")[:2]), "linux,dummy-virt")
        after = changes.pop("after", None)
        settings = (setting, replace(setting, value=str(after), phase="after"))
        return ApplyPlan(settings[: 1 + (after is not None)], board, "a run of app", **changes)

    def files_of_foreread(self) -> str:
        """List what foreread has on the board."""
        return self.sh("find / -xdev -name '*foreread*' -not -path '/proc/*' -not -path '/sys/*'")


def tell(capsys, text):
    with capsys.disabled():
        print(f"\n  {text}", end="")
