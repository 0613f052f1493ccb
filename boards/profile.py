"""Board profiles: a board's hardware and software, and how to reach it, as TOML.

Unknown facts are absent. Unknown keys and values out of range are errors that name their path.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from foreread.boards.base.bounded import UnboundedError
from foreread.boards.base.brief import brief
from foreread.boards.base.document import DocumentError
from foreread.boards.base.toml_document import decode_toml, read_toml
from foreread.boards.cost import Amount, Cost, Count, Part, Text
from foreread.boards.error import BoardsError
from foreread.boards.judged import JudgedKernel, with_judged

PROFILES = Path(__file__).parent / "profiles"
SUFFIX = ".toml"

Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]*\Z", max_length=64)]


class ProfileError(BoardsError, ValueError):
    """A missing or unusable board profile; ``remedy`` says what to do."""


class Cpu(Part, frozen=True):
    """The processor; ``architecture`` as in ``uname -m`` or a Debian port's name."""

    architecture: Text
    model: Text | UnsetType = UNSET
    cores: Count | UnsetType = UNSET
    clock_mhz: Count | UnsetType = UNSET
    byte_order: Literal["little", "big"] | UnsetType = UNSET


class BoardMemory(Part, frozen=True):
    """Main memory."""

    size_mib: Count


class Kernel(Part, frozen=True):
    """The kernel; ``release`` as far as it is known, as in ``uname -r``.

    ``judged``: kernels whose readahead was compared with the emulation (foreread doctor --judge).
    """

    release: Text
    page_size_bytes: Count | UnsetType = UNSET
    judged: list[JudgedKernel] = msgspec.field(default_factory=list)


class Storage(Part, frozen=True):
    """A storage device; ``name`` as in /sys/block where it is known, ``kind`` in common words."""

    __repr__ = brief

    kind: Text
    name: Text | UnsetType = UNSET
    model: Text | UnsetType = UNSET
    size_mib: Amount | UnsetType = UNSET
    file_systems: list[Text] = msgspec.field(default_factory=list)
    read_ahead_kb: Amount | UnsetType = UNSET
    scheduler: Text | UnsetType = UNSET
    cost: Cost | UnsetType = UNSET


class Defaults(Part, frozen=True):
    """Default settings; ``window_pages`` if the window is known in pages only."""

    read_ahead_kb: Amount | UnsetType = UNSET
    window_pages: Amount | UnsetType = UNSET
    swappiness: Amount | UnsetType = UNSET


class LocalTransport(Part, frozen=True, tag_field="kind", tag="local"):
    """The machine that foreread runs on."""


class SshTransport(Part, frozen=True, tag_field="kind", tag="ssh"):
    """An ssh server; paths are relative to the profile's folder."""

    url: Text
    known_hosts: Text | UnsetType = UNSET
    identity: Text | UnsetType = UNSET


class SerialTransport(Part, frozen=True, tag_field="kind", tag="serial"):
    """A serial console: ``serial:///dev/ttyUSB0``, ``serial://HOST:PORT``, ``rfc2217://HOST:PORT``.

    With a speed: ``serial:///dev/ttyUSB0?baud=115200``.
    """

    url: Annotated[str, Meta(pattern=r"^(serial|rfc2217)://", max_length=4000)]


class AdbTransport(Part, frozen=True, tag_field="kind", tag="adb"):
    """Android's debug bridge: ``adb://SERIAL``."""

    url: Annotated[str, Meta(pattern=r"^adb://", max_length=4000)]


class LabgridTransport(Part, frozen=True, tag_field="kind", tag="labgrid"):
    """A place of a labgrid lab: ``labgrid://PLACE``."""

    url: Annotated[str, Meta(pattern=r"^labgrid://", max_length=4000)]


class QemuTransport(Part, frozen=True, tag_field="kind", tag="qemu"):
    """An emulated board, started by ``foreread boards run``."""

    board: Name
    machine: Text | UnsetType = UNSET
    cpu: Text | UnsetType = UNSET


Transport = (
    LocalTransport
    | SshTransport
    | SerialTransport
    | AdbTransport
    | LabgridTransport
    | QemuTransport
)


class Profile(Part, frozen=True):
    """A board.

    ``measured_here``: the facts come from the board itself, read or measured by foreread, and not
    from publications.
    """

    __repr__ = brief

    schema: Literal[1]
    name: Name
    title: Text
    measured_here: bool
    cpu: Cpu | UnsetType = UNSET
    memory: BoardMemory | UnsetType = UNSET
    kernel: Kernel | UnsetType = UNSET
    storage: list[Storage] = msgspec.field(default_factory=list)
    defaults: Defaults | UnsetType = UNSET
    transport: Transport | UnsetType = UNSET
    sources: list[Text] = msgspec.field(default_factory=list)
    notes: list[Text] = msgspec.field(default_factory=list)


def decode_profile(data: bytes, where: str) -> Profile:
    """Return the profile in TOML; raises ProfileError with a message that begins with ``where``."""
    try:
        return decode_toml(data, Profile)
    except DocumentError as error:
        raise ProfileError(
            f"{where}: {error}", "correct it; `foreread boards show NAME` prints a valid profile"
        ) from error


def read_profile(path: Path) -> Profile:
    """Return the profile in a file; raises ProfileError."""
    try:
        return decode_profile(read_toml(path, "give a board profile"), str(path))
    except UnboundedError as error:
        raise ProfileError(str(error), _choices()) from error
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror}", _choices()) from error


def builtin_names() -> list[str]:
    """Return the names of the profiles that come with foreread, sorted."""
    return sorted(path.name.removesuffix(SUFFIX) for path in PROFILES.glob(f"*{SUFFIX}"))


def profile_path(name_or_file: str) -> Path:
    """Return the path of the profile: a shipped profile by its name, or a file."""
    if name_or_file in builtin_names():
        return PROFILES / (name_or_file + SUFFIX)
    if "/" in name_or_file or name_or_file.endswith(SUFFIX) or Path(name_or_file).exists():
        return Path(name_or_file)
    raise ProfileError(f"no board profile is called {name_or_file!r}", _choices())


def load_profile(name_or_file: str) -> Profile:
    """Return the profile of that name, or in that file; raises ProfileError."""
    return read_profile(profile_path(name_or_file))


def known_profiles() -> list[Profile]:
    """Return all profiles that come with foreread, sorted by name."""
    return [load_profile(name) for name in builtin_names()]


def profile_name(text: str) -> str:
    """Return ``text`` changed to a valid profile name."""
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("._-")[:64] or "board"


def with_cost(profile: Profile, disk: str, cost: Cost) -> Profile:
    """Return the profile with that cost of its storage named ``disk``, or of its only one."""
    named = [row for row, device in enumerate(profile.storage) if disk and device.name == disk]
    rows = named or ([0] if len(profile.storage) == 1 else [])
    storage = list(profile.storage)
    if rows:
        storage[rows[0]] = msgspec.structs.replace(storage[rows[0]], cost=cost)
    else:
        storage.append(Storage(kind="measured", name=disk or UNSET, cost=cost))
    return msgspec.structs.replace(profile, storage=storage)


def with_judgement(profile: Profile, new: JudgedKernel) -> Profile:
    """Return the profile with a judgement, which replaces an earlier one of the same kernel."""
    kernel = profile.kernel or Kernel(release=new.release)
    judged = with_judged(kernel.judged, new)
    return msgspec.structs.replace(profile, kernel=msgspec.structs.replace(kernel, judged=judged))


def _choices() -> str:
    return "name one of `foreread boards list`, or a file: " + ", ".join(builtin_names())
