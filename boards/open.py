"""Opens the target that a text names."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from msgspec import UNSET, UnsetType, structs

from foreread.boards.adb import AdbAddress, AdbTarget
from foreread.boards.console.line import SerialAddress
from foreread.boards.console.serial import SerialTarget
from foreread.boards.emulated.live import Tell, started, target_of
from foreread.boards.labgrid.place import LabgridAddress, open_place
from foreread.boards.profile import (
    AdbTransport,
    LabgridTransport,
    LocalTransport,
    QemuTransport,
    SerialTransport,
    SshTransport,
    Transport,
    load_profile,
    profile_path,
)
from foreread.boards.ssh import SshTarget
from foreread.boards.ssh_connection import SshAddress
from foreread.boards.target import LocalTarget, Target, TargetError

LOCAL = "local"
StrPath = str | os.PathLike[str]
_SCHEMES: dict[str, type[SshTransport | SerialTransport | AdbTransport | LabgridTransport]] = {
    "ssh": SshTransport,
    "serial": SerialTransport,
    "rfc2217": SerialTransport,
    "adb": AdbTransport,
    "labgrid": LabgridTransport,
}
FORMS = (
    "local, ssh://USER@HOST, serial:///dev/ttyUSB0, serial://HOST:PORT, rfc2217://HOST:PORT, "
    "adb://SERIAL, labgrid://PLACE"
)


def open_target(
    text: str,
    known_hosts: StrPath | None = None,
    identity: StrPath | None = None,
    tell: Tell = lambda step: None,
) -> AbstractContextManager[Target]:
    """Return the target that ``text`` names, for a ``with`` statement that closes it.

    ``text`` is one of ``FORMS``, or a board profile's name or file. ``known_hosts`` and
    ``identity`` are for ssh, and override the profile's; a target without ssh refuses ``identity``.
    An emulated board is the started board of that name, or boots for this target alone; ``tell`` is
    called with its steps. Raises TargetError, ProfileError and BoardError.
    """
    if not text:
        raise TargetError("no target is named", f"use one of {FORMS}, or a board profile")
    if identity is not None:
        _check_ssh(text)
    if text == LOCAL:
        return nullcontext(LocalTarget())
    hosts, key = (path if path is None else Path(path) for path in (known_hosts, identity))
    if "://" in text:
        return _open_url(text, hosts, key, tell)
    if board := started(text):
        return board.target()
    return _of_profile(text, hosts, key, tell)


def _check_ssh(text: str) -> None:
    """Raise TargetError for a key if the target is not reached by the user's ssh."""
    if text.startswith(("ssh://", "labgrid://")):
        return
    own = text == LOCAL or "://" in text or started(text) is not None
    by_ssh = SshTransport | LabgridTransport
    if own or not isinstance(load_profile(text).transport, by_ssh):
        raise TargetError(
            f"--identity is for targets that ssh reaches; {text} is none", "leave --identity out"
        )


def transport_of(text: str, identity: Path | None = None) -> Transport | UnsetType:
    """Return the transport of the target that ``text`` names, as in a profile.

    ``identity`` is the user's key for it. Raises TargetError and ProfileError.
    """
    transport = _transport_of(text)
    if identity is not None and isinstance(transport, SshTransport):
        return structs.replace(transport, identity=str(identity.absolute()))
    return transport


def _transport_of(text: str) -> Transport | UnsetType:
    if text == LOCAL:
        return LocalTransport()
    for scheme, kind in _SCHEMES.items():
        if text.startswith(f"{scheme}://"):
            return kind(url=text)
    if board := started(text):
        files = (str(board.known_hosts.absolute()), str(board.identity.absolute()))
        return SshTransport(url=str(board.address), known_hosts=files[0], identity=files[1])
    return _placed(text, load_profile(text).transport)


def _placed(text: str, transport: Transport | UnsetType) -> Transport | UnsetType:
    """Return a profile's transport with absolute paths of the files in the profile's folder."""
    if not isinstance(transport, SshTransport):
        return transport
    folder = profile_path(text).parent.absolute()

    def beside(path: str | UnsetType) -> str | UnsetType:
        return str(folder / Path(path).expanduser()) if path else UNSET

    return SshTransport(
        url=transport.url,
        known_hosts=beside(transport.known_hosts),
        identity=beside(transport.identity),
    )


def _of_profile(
    text: str, known_hosts: Path | None, identity: Path | None, tell: Tell
) -> AbstractContextManager[Target]:
    profile = load_profile(text)
    match _placed(text, profile.transport):
        case LocalTransport():
            return nullcontext(LocalTarget())
        case SshTransport() as ssh:
            return SshTarget(
                SshAddress.parse(ssh.url),
                known_hosts or (Path(ssh.known_hosts) if ssh.known_hosts else None),
                identity or (Path(ssh.identity) if ssh.identity else None),
            )
        case SerialTransport(url=url) | AdbTransport(url=url):
            return _open_url(url, None, None, tell)
        case LabgridTransport(url=url):
            return _open_url(url, known_hosts, identity, tell)
        case QemuTransport(board=name):
            return target_of(profile, name, tell)
    raise TargetError(
        f"the profile {text} does not say how its board is reached",
        'use --target ssh://USER@HOST, or add to the profile: [transport] kind = "ssh", url = "ssh://…"',
    )


def _open_url(
    url: str, known_hosts: Path | None, identity: Path | None, tell: Tell
) -> AbstractContextManager[Target]:
    match url.partition("://")[0]:
        case "ssh":
            return SshTarget(SshAddress.parse(url), known_hosts, identity)
        case "serial" | "rfc2217":
            return SerialTarget(SerialAddress.parse(url))
        case "adb":
            return AdbTarget(AdbAddress.parse(url))
        case "labgrid":
            return open_place(LabgridAddress.parse(url), known_hosts, identity, tell)
    raise TargetError(f"{url!r} is not a target", f"use one of: {FORMS}")
