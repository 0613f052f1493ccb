"""Names of boards and starts as parts of a store's paths, and digests that tell them apart."""

from __future__ import annotations

import re
from hashlib import blake2b
from pathlib import PurePosixPath

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.report.wording import shell_words
from foreread.boards.base.printable import printable
from foreread.tracer.formats.capture import Host, Metadata

# The partition of captures whose board or start is unknown. A board of this name gets a digest.
UNREAD = "unread"
BOOT = "boot"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MOST = 48  # characters: a partition's folder is well below 255 bytes
SLUG = re.compile(r"(?![.-])[A-Za-z0-9._-]{1,80}")


def digest(*parts: object, size: int = 16) -> str:
    """Return a digest of texts and numbers, two hexadecimal digits for each of ``size`` bytes."""
    state = blake2b(digest_size=size)
    for part in parts:
        encoded = part if isinstance(part, bytes) else str(part).encode(errors="surrogatepass")
        state.update(len(encoded).to_bytes(8, "little"))
        state.update(encoded)
    return state.hexdigest()


def slug(text: str) -> str:
    """Return a name for a path: letters, digits, ``.``, ``_`` and ``-`` only.

    A text that is changed by this gets a digest, so that two texts never share a name.
    """
    safe = _UNSAFE.sub("-", text).strip(".-")[:_MOST]
    if safe and safe == text and text != UNREAD:
        return safe
    return "-".join(filter(None, [safe, digest(text, size=4)]))


def board_name(host: Host) -> str:
    """Return what a board is called: its node name, without one its CPU or machine."""
    return printable(host.nodename or host.cpu_model or host.machine or UNREAD)


def board_slug(host: Host) -> str:
    """Return the partition of a board: its name, and a digest of its hardware.

    Boards of one name that are different machines are kept apart. The kernel is left out: it
    changes from build to build.
    """
    made_of = (host.machine, host.cpu_model, host.cpu_count, host.page_size, host.byte_order)
    return f"{slug(board_name(host))}-{digest(*made_of, size=4)}"


def start_slug(capture: Metadata) -> str:
    """Return the partition of a start: its program's name, and a digest of all its words."""
    if capture.boot is not None:
        return BOOT
    if not capture.command:
        return UNREAD
    name = PurePosixPath(capture.command[0]).name
    if capture.command == [name]:
        return slug(name)
    return f"{slug(name)}-{digest(*capture.command, size=4)}"


def command_text(capture: Metadata) -> str:
    """Return the recorded command as one line for a shell."""
    return BOOT if capture.boot is not None else printable(shell_words(capture.command or []))


def build(recording: Recording) -> str:
    """Return a digest of the kernel, and of the programs and libraries that the start read.

    It changes when the image is built anew with another kernel, on another file system, or with
    another version of one of those files (path and size in bytes).
    """
    capture, host = recording.capture, recording.capture.host
    if host is None:
        return digest(recording.kernel, size=4)
    types = {mount.dev: mount.fstype for mount in capture.mounts}
    programs = sorted(
        (types.get(entry.dev, ""), entry.path or "", entry.size_bytes)
        for entry in recording.entries
        if entry is not None and entry.segments
    )
    words = [word for program in programs for word in program]
    return digest(host.kernel, host.version, *words, size=4)
