"""The background load of a scenario on this machine, run by the shell file that targets use too."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path

from boards.base.owner import marked
from boards.base.scratch import scratch_folder
from boards.device import Devices
from boards.mounts import MountPoint, mount_of
from tracer.error import RecordError
from tracer.local.trial import Scenario

_PROOF_S = 120.0  # maximum wait for a proof; memory is being filled during it
_GRACE_S = 10.0


class Load:
    """A running load; without a scenario there is no load, and nothing to prove."""

    def __init__(self, kind: str = "", process: subprocess.Popen[bytes] | None = None) -> None:
        self._kind = kind
        self._process = process
        self.apart = ""  # why the load is not in the control group that it was to join

    def join(self, group: str) -> None:
        """Move what reads and writes into the start's control group for block I/O (its path)."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):  # it has ended: prove says why
                self._process.stdin.write(os.fsencode(f"join {group}\n"))
                self._process.stdin.flush()

    def prove(self) -> None:
        """Return once the load is seen to be effective; raises RecordError if it is not."""
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            return
        answer = b""
        try:
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
            if select.select([self._process.stdout], [], [], _PROOF_S)[0]:
                answer = self._process.stdout.readline()
        except OSError:
            answer = self._process.stdout.readline()  # it has reported why it ended
        word, _, rest = os.fsdecode(answer).strip().partition(" ")
        if word == "ready":
            self.apart = rest.partition("|")[2]
            return
        message, _, remedy = rest.partition("|")
        raise RecordError(
            message or self._silence(),
            remedy or "check that there is enough memory, and start sh by hand",
        )

    def _silence(self) -> str:
        """Return why the load does not answer."""
        killed = self._process is not None and self._process.poll() is not None
        return f"the {self._kind} of the scenario {'was killed' if killed else 'does not answer'}"


@contextmanager
def running(scenario: Scenario, disks: Sequence[str], devices: Devices) -> Iterator[Load]:
    """Run the load until the block ends, or this process is killed."""
    if scenario.kind == "idle":
        yield Load()
        return
    with scratch_folder("load", "/run") as folder:
        text = (resources.files("tracer.remote") / "load.sh").read_text()
        process = subprocess.Popen(
            ["sh", "-c", text, "sh", *words(scenario, disks, devices), folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=marked(),
            start_new_session=True,  # Ctrl-C reaches foreread, which then ends the load
        )
        try:
            yield Load(scenario.kind, process)
        finally:
            _end(process)


def words(scenario: Scenario, disks: Sequence[str], devices: Devices) -> list[str]:
    """Return the arguments of the shell file: kind, path, MiB, disk."""
    path = scenario.path
    if scenario.kind == "reader":
        path = path or f"/dev/{disks[0]}"
    if scenario.kind == "writer":
        path = path or str(_writable(disks[0], devices).mountpoint)
    return [scenario.kind, path, str(scenario.mib), _disk_of(path, devices) or disks[0]]


def _disk_of(path: str, devices: Devices) -> str | None:
    """Return the disk whose counters show that ``path`` is read or written."""
    if path.startswith("/dev/") or not path:
        return None
    return next(iter(devices.disks_of_path(Path(path))), None)


def _writable(disk: str, devices: Devices) -> MountPoint:
    """Return where a file system of the disk is mounted to be written to."""
    for mount in devices.mounts:
        seen = mount_of(Path(mount.mountpoint), devices.mounts, follow=False) == mount
        if seen and disk in devices.disks_of_superblock(mount.dev) and _is_writable(mount):
            return mount
    raise RecordError(
        f"no file system of {disk} is mounted writable",
        "name a folder of the disk with --scenario writer:FOLDER, or choose another scenario",
    )


def _is_writable(mount: MountPoint) -> bool:
    return "rw" in mount.options.split(",") and "rw" in mount.super_options.split(",")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the input of the load, which then ends; kill it if it does not."""
    if process.stdin:
        with suppress(BrokenPipeError):
            process.stdin.close()
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
    if process.stdout:
        process.stdout.close()
