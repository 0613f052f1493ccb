"""Opens the target that a text names."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from msgspec import UNSET, UnsetType

from boards.emulated.live import started, target_of
from boards.profile import (
    LocalTransport,
    SshTransport,
    load_profile,
    profile_path,
)
from boards.ssh import SshTarget
from boards.ssh_connection import SshAddress
from boards.target import LocalTarget, Target, TargetError

LOCAL = "local"


def open_target(
    text: str, known_hosts: Path | None = None, identity: Path | None = None
) -> AbstractContextManager[Target]:
    """Return the target that ``text`` names, for a ``with`` statement that closes it.

    ``local``, ``ssh://[USER@]HOST[:PORT]``, or a board profile's name or file.
    ``known_hosts`` and ``identity`` come before the profile's.
    An emulated board is one that was started by that name, or boots for this target alone.
    Raises TargetError, ProfileError and BoardError.
    """
    if text == LOCAL:
        return nullcontext(LocalTarget())
    if "://" in text:
        return SshTarget(SshAddress.parse(text), known_hosts, identity)
    if board := started(text):
        return board.target()
    profile = load_profile(text)
    transport = profile.transport
    if isinstance(transport, LocalTransport):
        return nullcontext(LocalTarget())
    if isinstance(transport, SshTransport):
        folder = profile_path(text).parent
        return SshTarget(
            SshAddress.parse(transport.url),
            known_hosts or _beside(folder, transport.known_hosts),
            identity or _beside(folder, transport.identity),
        )
    if transport is UNSET:
        raise TargetError(
            f"the profile {text} does not say how its board is reached",
            'give ssh://USER@HOST, or add to it: [transport] kind = "ssh", url = "ssh://…"',
        )
    return target_of(profile, transport.board)


def _beside(folder: Path, path: str | UnsetType) -> Path | None:
    return None if isinstance(path, UnsetType) else folder / Path(path).expanduser()
