"""The list of installed files, kept in a file on the board."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import msgspec

from foreread.boards.knobs import BLOCK, READ_AHEAD, is_disk_name
from foreread.tracer.error import InstallError
from foreread.tracer.formats.boot_files import (
    ATTEMPTS,
    LIST_PLACE,
    REPLAYER,
    RULE_PLACE,
    SCRIPT_PLACES,
    beside,
)
from foreread.tracer.install.init_system import INITTAB, Init

MANIFEST = "/etc/foreread-apply.manifest"
_KB = re.compile(r"[0-9]{1,20}")
_OURS = ("foreread", "S05foreread", "S11foreread", "S99foreread")


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Paths with the SHA-256 of files, the targets of links, and lines added to other files.

    ``script`` is empty if a udev rule sets the windows. ``windows``: path of each window that the
    rule sets -> its value before the installation, and the value in the rule.
    """

    schema: int = 1
    init: Init
    script: str
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    lines: dict[str, list[str]] = {}
    directories: list[str] = []  # that were made for them
    attempts: str = ""  # where the script counts boots
    windows: dict[str, tuple[str, str]] = {}

    @property
    def program(self) -> str:
        """The file that sets the values: the script, or the udev rule."""
        return self.script or RULE_PLACE

    @property
    def counters(self) -> list[str]:
        """The files that the script itself writes and that survive a boot."""
        return [self.attempts] if self.attempts else []

    @property
    def paths(self) -> list[str]:
        """Every file and link, without the files that only hold lines of ours."""
        return [*self.files, *self.links]


def encode(manifest: Manifest) -> bytes:
    """Return the manifest as the board keeps it."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def decode(text: bytes) -> Manifest:
    """Return the manifest that a board keeps; it may have been changed there.

    Raises InstallError if it is invalid, or names a path that foreread never installs.
    """
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _damaged(str(error)) from error
    strange = [path for path in manifest.paths if not _is_ours(path)]
    strange += [path for path in manifest.lines if path != INITTAB]
    strange += [path for path in manifest.directories if not path.startswith("/etc/")]
    if manifest.attempts and not _counts_boots(manifest.attempts):
        strange.append(manifest.attempts)
    if manifest.script not in SCRIPT_PLACES and (manifest.script or manifest.init != "udev"):
        strange.append(manifest.script)
    strange += [path for path, kb in manifest.windows.items() if not _is_window(path, kb)]
    if strange:
        raise _damaged(f"foreread does not install {strange[0]!r}")
    return manifest


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def expected_states(manifest: Manifest) -> dict[str, list[str]]:
    """Return the expected state of each path of the manifest, as BoardAccess.states reports it."""
    links = {path: [f"link {target}"] for path, target in manifest.links.items()}
    return {path: [digest] for path, digest in manifest.files.items()} | links


def obsolete_paths(before: Manifest, manifest: Manifest) -> list[str]:
    """Return the paths of ``before`` that ``manifest`` has no longer."""
    left = {*manifest.paths, *manifest.counters}
    return [path for path in (*before.paths, *before.counters) if path not in left]


def _is_ours(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    programs = [beside(script, REPLAYER) for script in SCRIPT_PLACES]
    places = (*SCRIPT_PLACES, *programs, LIST_PLACE, RULE_PLACE)
    known = path in places or (folder.startswith("/etc/") and name.startswith(_OURS))
    return known and ".." not in path.split("/")


def _counts_boots(path: str) -> bool:
    return path.startswith("/") and path.endswith(f"/{ATTEMPTS}") and ".." not in path.split("/")


def _is_window(path: str, values: tuple[str, str]) -> bool:
    name = path.removeprefix(BLOCK).removesuffix(f"/{READ_AHEAD}")
    shaped = path == f"{BLOCK}{name}/{READ_AHEAD}" and is_disk_name(name)
    return shaped and all(map(_KB.fullmatch, values))


def _damaged(why: str) -> InstallError:
    return InstallError(
        f"{MANIFEST} on the target is damaged: {why}",
        f"remove the installed files by hand (listed in INSTALL.md), then {MANIFEST}",
    )
