"""A target reached by adb, Android's debug bridge: a device with shell_v2 (Android 7 and later).

``adb shell`` joins its words with spaces, and the device's shell splits them again: so adb gets one
word, a whole line. The exit status of adb is not used, since it is 0 after a lost connection, too:
the shell prints the status of the line at the end.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, replace
from typing import IO

from foreread.boards.client import run_client, through_stdin
from foreread.boards.shell import ShellTarget
from foreread.boards.target import Result, TargetError, too_slow

START_S = 30.0
FEATURE = "shell_v2"
# Old devices accept packets of 4096 bytes (MAX_PAYLOAD_V1), the name of the service included.
LONGEST_LINE = 3000
_URL = re.compile(r"adb://(?P<serial>[A-Za-z0-9][A-Za-z0-9._:-]{0,127})?/?")
_ENDED = re.compile(rb"foreread: ended with (\d{1,3})\n\Z")
_REMEDIES = {
    "unauthorized": "allow this machine on the device's screen",
    "offline": "plug it in again, or run: adb reconnect",
    "more than one": "name one of `adb devices`: adb://SERIAL",
    "no devices": "plug it in and turn on USB debugging, or: adb connect HOST",
    "not found": "list the devices with: adb devices",
}


@dataclass(frozen=True)
class AdbAddress:
    """A device by its serial as ``adb devices`` shows it; None: the only connected device."""

    serial: str | None = None

    @classmethod
    def parse(cls, url: str) -> AdbAddress:
        """Return the address in ``adb://[SERIAL]``; raises TargetError."""
        match = _URL.fullmatch(url)
        if match is None:
            raise TargetError(
                f"{url!r} is not an adb target",
                "write adb://SERIAL; list the devices with: adb devices",
            )
        return cls(match["serial"])

    def __str__(self) -> str:
        return f"adb://{self.serial or ''}"


class AdbTarget(ShellTarget):
    """A device behind the adb client; operations that need root need ``adb root`` first."""

    rights = "adb root, where the device's build allows it"

    def __init__(self, address: AdbAddress) -> None:
        self.address = address
        self._checked = False

    @property
    def place(self) -> str:
        """Its URL."""
        return str(self.address)

    def close(self) -> None:
        """Do nothing: adb's server is the user's."""

    def execute(
        self,
        line: str,
        step: str,
        stdin: bytes | IO[bytes] = b"",
        stdout: IO[bytes] | None = None,
        timeout_s: float | None = None,
    ) -> Result:
        """Run one line of the device's shell; after ``timeout_s`` the line may still run there."""
        self._check()
        line, stdin = through_stdin(line, stdin, LONGEST_LINE)
        reporting = f'(\n{line}\n); echo "foreread: ended with $?" >&2'
        try:
            done = run_client(self._words("shell", "-T", reporting), stdin, stdout, timeout_s)
        except TimeoutError:
            raise too_slow(self.place, step, timeout_s or 0) from None
        ended = _ENDED.search(done.stderr)
        if ended is None:
            raise self._failure(step, done.stderr)
        return replace(done, status=int(ended[1]), stderr=done.stderr[: ended.start()])

    def _check(self) -> None:
        """Check that the device is present and reports a command's status; raises TargetError."""
        if self._checked:
            return
        try:
            # Otherwise adb's messages would be mixed with the command's output.
            run_client([_client(), "start-server"], b"", None, START_S)
            done = run_client(self._words("features"), b"", None, START_S)
        except TimeoutError:
            raise too_slow(self.place, "connecting", START_S) from None
        if done.status:
            raise self._failure("connecting", done.stderr)
        if FEATURE not in done.stdout.decode("ascii", "replace").split():
            raise TargetError(
                f"{self.place}: the device's adb does not report the exit status of a command",
                "reach it by ssh or its serial console: adb needs Android 7",
            )
        self._checked = True

    def _words(self, *words: str) -> list[str]:
        device = ["-s", self.address.serial] if self.address.serial else []
        return [_client(), *device, *words]

    def _failure(self, step: str, stderr: bytes) -> TargetError:
        lines = stderr.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else "the connection was lost"
        remedy = next((r for sign, r in _REMEDIES.items() if sign in reason), "see adb devices")
        self._checked = False
        return TargetError(f"{self.place}: {step}: {reason}", remedy)


def _client() -> str:
    path = shutil.which("adb")
    if path is None:
        raise TargetError("adb is not installed here", "apt-get install adb")
    return path
