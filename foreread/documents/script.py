"""The documents of ``foreread script --json``."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from foreread.boards.base.document import Document, says


class WrittenSetting(msgspec.Struct, frozen=True):
    """One setting that the boot script applies."""

    disk: Annotated[str | None, says("name of the disk; null for a setting of the whole machine")]
    knob: Annotated[str, says("path below /sys/block/DISK, or an absolute path")]
    value: str
    phase: Annotated[Literal["boot", "after"], says("at boot, or after the start")]


class PrefetchPart(msgspec.Struct, frozen=True):
    """The prefetch list in the script's folder."""

    list_bytes: int


class InstalledPart(msgspec.Struct, frozen=True):
    """What was installed on a target."""

    init: Annotated[str, says("the init system it was installed for, or udev")]
    paths: Annotated[list[str], says("files and links on the target")]
    lines: Annotated[dict[str, list[str]], says("lines added to other files")]
    fits: Annotated[bool, says("whether the script's check accepts the board, for a rule too")]
    check: Annotated[list[str], says("output of the script's check")]
    notes: list[str]


class ScriptDocument(Document, frozen=True, kw_only=True):
    """The boot script's settings, and the files that were written."""

    settings: list[WrittenSetting]
    losses: Annotated[list[str], says("what a power cut may lose more with these settings")]
    files: Annotated[list[str], says("paths of the written files")]
    prefetch: PrefetchPart | UnsetType = UNSET
    installed: Annotated[InstalledPart | UnsetType, says("with --install")] = UNSET


class UninstalledDocument(Document, frozen=True, kw_only=True):
    """What ``--uninstall`` removed from a target."""

    removed: Annotated[list[str], says("paths")]
    restored: Annotated[list[str], says("messages about the settings that were restored")]


class CheckedDocument(Document, frozen=True, kw_only=True):
    """What ``--check`` found on a target."""

    script: Annotated[
        str | None, says("the installed boot script or udev rule; null if there is none")
    ]
    holds: Annotated[bool, says("whether one is installed and all its values are in force")]
    lines: Annotated[list[str], says("its status, or the windows, with what sets them")]
