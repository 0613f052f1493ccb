"""A place of a labgrid lab as a target: by ssh if it has an address, otherwise by its console."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foreread.boards.base.guard import guarded
from foreread.boards.console.line import SerialAddress
from foreread.boards.console.serial import SerialTarget
from foreread.boards.labgrid import held
from foreread.boards.labgrid.client import LabgridClient, PlaceHeld
from foreread.boards.shell import ShellTarget
from foreread.boards.ssh import SshTarget
from foreread.boards.ssh_connection import SshAddress
from foreread.boards.target import Target, TargetError

LONGEST_WAIT_S = 7 * 24 * 3600
ORDERLY = 0.5  # share of a reboot's time limit in which the board may come back by itself
_RETRY_S = 2.0
_LARGEST_YAML = 1 << 20
_URL = re.compile(
    r"labgrid://(?P<place>\+|[A-Za-z0-9_][A-Za-z0-9_.:@+-]{0,127})(?:\?wait=(?P<wait>[0-9]{1,6}))?"
)


@dataclass(frozen=True)
class LabgridAddress:
    """A place by its name, or ``+`` for the place of the reservation in LG_TOKEN.

    ``wait_s``: how long to wait for a place that another user holds.
    """

    place: str
    wait_s: int = 0

    @classmethod
    def parse(cls, url: str) -> LabgridAddress:
        """Return the address in ``labgrid://PLACE[?wait=SECONDS]``; raises TargetError."""
        match = _URL.fullmatch(url)
        wait_s = int(match["wait"] or 0) if match else 0
        if match is None or wait_s > LONGEST_WAIT_S:
            raise TargetError(
                f"{url!r} is not a place of a lab",
                "write labgrid://PLACE, or labgrid://PLACE?wait=SECONDS; list the places: "
                "labgrid-client places",
            )
        return cls(match["place"], wait_s)

    def __str__(self) -> str:
        return f"labgrid://{self.place}" + (f"?wait={self.wait_s}" if self.wait_s else "")


@contextmanager
def open_place(
    address: LabgridAddress,
    known_hosts: Path | None = None,
    identity: Path | None = None,
    tell: Callable[[str], None] = lambda step: None,
) -> Iterator[Target]:
    """Acquire a place and yield its target; release the place at the end.

    A place that this user has acquired manually is used, and stays acquired. Raises PlaceHeld if
    another user holds it for longer than the address waits, and TargetError.
    """
    held.release_leftovers()
    client = LabgridClient(address.place)
    with guarded(), ExitStack() as undo:
        note = _acquired(client, address, tell)
        if note is not None:
            undo.callback(_release, client, note)
        yield undo.enter_context(_target(client, known_hosts, identity))


def _acquired(
    client: LabgridClient, address: LabgridAddress, tell: Callable[[str], None]
) -> Path | None:
    """Wait until this process holds the place, and return the note's path.

    Returns None if the user had acquired the place before.
    """
    end, waiting = time.monotonic() + address.wait_s, False
    while True:
        note = held.note(address.place)
        try:
            client.acquire()
            return note
        except PlaceHeld as error:
            ours = error.by_us and not held.is_held(address.place, note)
            note.unlink()
            if ours:
                return None
            if time.monotonic() >= end:
                raise
        except TargetError:  # a time-out does not say whether it was acquired
            with suppress(TargetError):
                client.release()
            note.unlink()
            raise
        if not waiting:
            tell(f"waiting up to {address.wait_s} s for labgrid://{address.place}")
            waiting = True
        time.sleep(min(_RETRY_S, max(0.0, end - time.monotonic())))


def _release(client: LabgridClient, note: Path) -> None:
    """Release the place; if the release fails, the note stays for the next foreread."""
    client.release()
    note.unlink(missing_ok=True)


def _target(
    client: LabgridClient, known_hosts: Path | None, identity: Path | None
) -> _PlaceSsh | _PlaceConsole:
    resources = parse_resources(client.resources(), client.place)
    power = client.power_cycle if resources.power else None
    if resources.ssh is not None:
        return _PlaceSsh(resources.ssh, power, known_hosts, identity)
    if resources.console is None:
        raise TargetError(
            f"labgrid://{client.place} has neither a NetworkService nor a NetworkSerialPort",
            "add one to the configuration of its exporter",
        )
    if identity is not None:
        raise TargetError(
            f"labgrid://{client.place} has only a console, which takes no key",
            "leave --identity out",
        )
    return _PlaceConsole(resources.console, power)


@dataclass(frozen=True)
class PlaceResources:
    """The addresses of a place, and whether its power can be switched."""

    ssh: SshAddress | None
    console: SerialAddress | None
    power: bool


def parse_resources(text: str, place: str) -> PlaceResources:
    """Return the resources in an environment file of labgrid; raises TargetError."""
    resources: dict[str, dict[str, Any]] = {}
    for kind, arguments in _resources(text, place):
        resources.setdefault(kind, arguments)
    try:
        ssh = _ssh(resources["NetworkService"]) if "NetworkService" in resources else None
        port = resources.get("NetworkSerialPort")
        console = _console(port) if port is not None else None
    except KeyError as error:
        raise _unreadable(place, f"a resource without {error}") from error
    return PlaceResources(ssh, console, any("Power" in kind for kind in resources))


def _resources(text: str, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        import yaml  # noqa: PLC0415  (an optional package, which comes with labgrid)
    except ImportError as error:
        raise TargetError(
            "boards of a lab need the Python package PyYAML", "pip install 'foreread[lab]'"
        ) from error
    try:
        document = yaml.safe_load(text[:_LARGEST_YAML])
        (target,) = document["targets"].values()
        for resource in target["resources"]:
            ((kind, arguments),) = resource.items()
            yield str(kind), dict(arguments)
    except (
        yaml.YAMLError,
        RecursionError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
    ) as error:
        raise _unreadable(place, "no list of resources") from error


def _unreadable(place: str, what: str) -> TargetError:
    return TargetError(
        f"labgrid://{place}: cannot read its resources: {what}",
        f"see what labgrid says: labgrid-client -p {place} env",
    )


def _ssh(service: dict[str, Any]) -> SshAddress:
    host, port = str(service["address"]), service.get("port", 22)
    return SshAddress.parse(f"ssh://{service['username']}@{_bracketed(host)}:{port}")


def _console(port: dict[str, Any]) -> SerialAddress:
    raw = port.get("protocol", "rfc2217") == "raw"
    where = f"{_bracketed(str(port['host']))}:{port['port']}"
    if raw:
        return SerialAddress.parse(f"serial://{where}")
    return SerialAddress.parse(f"rfc2217://{where}?baud={port.get('speed', 115200)}")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


class _Powered(ShellTarget):
    """A target whose power the lab may switch."""

    power: Callable[[], None] | None = None

    def reboot(self, timeout_s: float) -> None:
        """Restart the target; if it does not come back by itself, it is switched off and on."""
        if self.power is None:
            super().reboot(timeout_s)
            return
        orderly_s = ORDERLY * timeout_s
        with suppress(TargetError, OSError):
            super().reboot(orderly_s)
            return
        self.power()
        left_s = timeout_s - orderly_s
        self.await_boot(None, time.monotonic() + left_s, left_s)


class _PlaceSsh(_Powered, SshTarget):
    def __init__(
        self,
        address: SshAddress,
        power: Callable[[], None] | None,
        known_hosts: Path | None,
        identity: Path | None,
    ) -> None:
        SshTarget.__init__(self, address, known_hosts, identity)
        self.power = power


class _PlaceConsole(_Powered, SerialTarget):
    def __init__(self, address: SerialAddress, power: Callable[[], None] | None) -> None:
        SerialTarget.__init__(self, address)
        self.power = power
