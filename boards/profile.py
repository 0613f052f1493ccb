"""Board profiles: what a board is made of and how it is reached, as TOML.

What is not known is absent. Unknown keys and values out of range are refused with their path.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

PROFILES = Path(__file__).parent / "profiles"
SUFFIX = ".toml"
LARGEST_FILE = 1 << 20

Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]*\Z", max_length=64)]
Text = Annotated[str, Meta(min_length=1, max_length=4000)]
Count = Annotated[int, Meta(ge=1, le=1 << 53)]
Amount = Annotated[int, Meta(ge=0, le=1 << 53)]
# The upper limit also keeps out infinity, and either limit NaN.
Rate = Annotated[float, Meta(gt=0, le=1e15)]
Cost = Annotated[float, Meta(ge=0, le=1e15)]

# How a figure was obtained. "set": the device is made to behave so, by its driver or a limit.
Obtained = Literal["published", "measured", "assumed", "set"]


class ProfileError(ValueError):
    """A board profile that is not there or cannot be used; ``remedy`` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class _Part(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    pass


class Cpu(_Part, frozen=True):
    """The processor; ``architecture`` as in ``uname -m`` or a Debian port's name."""

    architecture: Text
    model: Text | UnsetType = UNSET
    cores: Count | UnsetType = UNSET
    clock_mhz: Count | UnsetType = UNSET
    byte_order: Literal["little", "big"] | UnsetType = UNSET


class Memory(_Part, frozen=True):
    """Main memory."""

    size_mib: Count


class Kernel(_Part, frozen=True):
    """The kernel; ``release`` as far as it is known, as in ``uname -r``."""

    release: Text
    page_size_bytes: Count | UnsetType = UNSET


class FixedCost(_Part, frozen=True, tag_field="model", tag="fixed"):
    """Served one at a time: a fixed time for each request, and time for its length."""

    obtained: Obtained
    latency_us: Cost
    ns_per_kib: Cost
    source: Text | UnsetType = UNSET


class PacedCost(_Part, frozen=True, tag_field="model", tag="paced"):
    """Limits that overlap: time is what the stricter one of the two takes."""

    obtained: Obtained
    requests_per_second: Rate | UnsetType = UNSET
    bytes_per_second: Rate | UnsetType = UNSET
    source: Text | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.requests_per_second is UNSET and self.bytes_per_second is UNSET:
            raise ValueError("a paced device needs requests_per_second or bytes_per_second")


class CostPoint(_Part, frozen=True):
    """How long one request of a size takes."""

    request_kib: Rate
    latency_us: Cost


class TableCost(_Part, frozen=True, tag_field="model", tag="table"):
    """Measured times by size of the request, sizes rising."""

    obtained: Obtained
    points: Annotated[list[CostPoint], Meta(min_length=1, max_length=10_000)]
    source: Text | UnsetType = UNSET

    def __post_init__(self) -> None:
        sizes = [point.request_kib for point in self.points]
        if any(left >= right for left, right in pairwise(sizes)):
            raise ValueError("the sizes of points must rise")


class Storage(_Part, frozen=True):
    """A storage device; ``name`` as in /sys/block where it is known, ``kind`` as people say."""

    kind: Text
    name: Text | UnsetType = UNSET
    model: Text | UnsetType = UNSET
    size_mib: Amount | UnsetType = UNSET
    file_systems: list[Text] = []
    read_ahead_kb: Amount | UnsetType = UNSET
    scheduler: Text | UnsetType = UNSET
    cost: FixedCost | PacedCost | TableCost | UnsetType = UNSET


class Defaults(_Part, frozen=True):
    """Settings in force when nobody changed them; ``window_pages`` where only that is known."""

    read_ahead_kb: Amount | UnsetType = UNSET
    window_pages: Amount | UnsetType = UNSET
    swappiness: Amount | UnsetType = UNSET


class LocalTransport(_Part, frozen=True, tag_field="kind", tag="local"):
    """The machine that foreread runs on."""


class SshTransport(_Part, frozen=True, tag_field="kind", tag="ssh"):
    """An ssh server; paths are relative to the profile's folder."""

    url: Text
    known_hosts: Text | UnsetType = UNSET
    identity: Text | UnsetType = UNSET


class SerialTransport(_Part, frozen=True, tag_field="kind", tag="serial"):
    """A serial console: ``serial:///dev/ttyUSB0?baud=115200`` or ``serial://HOST:PORT``."""

    url: Annotated[str, Meta(pattern=r"^serial://", max_length=4000)]


class AdbTransport(_Part, frozen=True, tag_field="kind", tag="adb"):
    """Android's debug bridge: ``adb://SERIAL``."""

    url: Annotated[str, Meta(pattern=r"^adb://", max_length=4000)]


class QemuTransport(_Part, frozen=True, tag_field="kind", tag="qemu"):
    """An emulated board, started by ``foreread boards run``."""

    board: Name
    machine: Text | UnsetType = UNSET
    cpu: Text | UnsetType = UNSET


Transport = LocalTransport | SshTransport | SerialTransport | AdbTransport | QemuTransport


class Profile(_Part, frozen=True):
    """A board.

    ``measured_here``: facts come from the board itself, read or measured by foreread, and not
    from what was published about it.
    """

    schema: Literal[1]
    name: Name
    title: Text
    measured_here: bool
    cpu: Cpu | UnsetType = UNSET
    memory: Memory | UnsetType = UNSET
    kernel: Kernel | UnsetType = UNSET
    storage: list[Storage] = []
    defaults: Defaults | UnsetType = UNSET
    transport: Transport | UnsetType = UNSET
    sources: list[Text] = []
    notes: list[Text] = []


def decode_profile(data: bytes, where: str) -> Profile:
    """Return the profile in TOML; raises ProfileError, whose message begins with ``where``."""
    try:
        return msgspec.toml.decode(data, type=Profile)
    # tomllib recurses, and gives up on hostile nesting with RecursionError.
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        text = str(error) or type(error).__name__
        raise ProfileError(
            f"{where}: {text}",
            "correct it; `foreread boards show` prints profiles that are right",
        ) from error


def read_profile(path: Path) -> Profile:
    """Return the profile in a file; raises ProfileError."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror}", _choices()) from error
    if len(data) > LARGEST_FILE:
        raise ProfileError(f"{path}: larger than {LARGEST_FILE} bytes", "give a board profile")
    return decode_profile(data, str(path))


def builtin_names() -> list[str]:
    """Return the names of the profiles that come with foreread, sorted."""
    return sorted(path.name.removesuffix(SUFFIX) for path in PROFILES.glob(f"*{SUFFIX}"))


def profile_path(name_or_file: str) -> Path:
    """Return where the profile is: one that comes with foreread, else a file."""
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
    """Return ``text`` as a profile may be called."""
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("._-")[:64] or "board"


def _choices() -> str:
    return "name one of `foreread boards list`, or a file: " + ", ".join(builtin_names())
