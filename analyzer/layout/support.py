"""Which compressors the kernel of a board unpacks: what shows it, and what leaves it in doubt."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.layout.order import LayoutError
from foreread.boards.base.bounded import open_regular
from foreread.boards.base.note import Note, NoteKind
from foreread.emulator.linux.rules import Version, version_of
from foreread.tracer.formats.capture import HUGE_PAGES

_MOST_CONFIG = 4 << 20  # bytes: a whole .config has 300 KiB
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class _Need:
    """The kernel's option of a compressor, and the first version that has it."""

    option: str
    since: Version


# fs/squashfs/Kconfig and fs/erofs/Kconfig; the versions are those of the commits that added them.
_NEEDS: Mapping[tuple[str, str], _Need] = {
    ("squashfs", "gzip"): _Need("CONFIG_SQUASHFS_ZLIB", (2, 6)),
    ("squashfs", "xz"): _Need("CONFIG_SQUASHFS_XZ", (2, 6)),
    ("squashfs", "lzo"): _Need("CONFIG_SQUASHFS_LZO", (2, 6)),
    ("squashfs", "lz4"): _Need("CONFIG_SQUASHFS_LZ4", (3, 19)),
    ("squashfs", "zstd"): _Need("CONFIG_SQUASHFS_ZSTD", (4, 14)),
    ("EROFS", "lz4"): _Need("CONFIG_EROFS_FS_ZIP", (5, 4)),
    ("EROFS", "lz4hc"): _Need("CONFIG_EROFS_FS_ZIP", (5, 4)),
    ("EROFS", "lzma"): _Need("CONFIG_EROFS_FS_ZIP_LZMA", (5, 16)),
    ("EROFS", "deflate"): _Need("CONFIG_EROFS_FS_ZIP_DEFLATE", (6, 6)),
    ("EROFS", "zstd"): _Need("CONFIG_EROFS_FS_ZIP_ZSTD", (6, 10)),
}


@dataclass(frozen=True)
class Support:
    """What is known of the kernel that has to mount an image of a file system.

    ``release`` is its uname -r. ``shown`` are compressors that it has unpacked, in the recorded
    start or in a measurement on the board; ``refused`` are those of which it mounted no image.
    ``config`` are the options that are set in its configuration; None: not given. ``page_size`` is
    in bytes.
    """

    fs: str
    release: str
    shown: frozenset[str] = field(default_factory=frozenset)
    refused: frozenset[str] = field(default_factory=frozenset)
    config: frozenset[str] | None = None
    page_size: int = 4096

    def is_shown(self, compressor: str) -> bool:
        """Whether the kernel has unpacked this one, or another one by the same code."""
        need = self._need(compressor)
        return need is not None and need in map(self._need, self.shown)

    def _need(self, compressor: str) -> _Need | None:
        return _NEEDS.get((self.fs, compressor))

    def _cure(self, compressor: str) -> str:
        need = _NEEDS[self.fs, compressor]
        newer = "a newer kernel" if version_of(self.release) < need.since else "a kernel"
        return f"build {newer} with {need.option}=y"

    def lack(self, compressor: str) -> str | None:
        """Return why the kernel does not unpack a compressor; None: nothing shows that."""
        need = self._need(compressor)
        if need is None or self.is_shown(compressor):
            return None
        if compressor in self.refused:
            return f"the board's kernel ({self.release}) does not mount {self.fs} with {compressor}"
        if version_of(self.release) < need.since:
            since = ".".join(map(str, need.since))
            return (
                f"the board's kernel ({self.release}) has no {compressor} in {self.fs}; Linux "
                f"{since} is the first with it"
            )
        if self.config is not None and need.option not in self.config:
            return f"{need.option} is not set in the configuration of the board's kernel"
        return None

    def doubt(self, compressor: str) -> str | None:
        """Return what nothing shows of a compressor that is not known to be lacking."""
        need = self._need(compressor)
        if need is None or self.is_shown(compressor) or self.config is not None:
            return None
        return (
            f"nothing shows that the board's kernel ({self.release}) unpacks {compressor} in "
            f"{self.fs}: it needs {need.option}. Test it with --target T, or give the kernel's "
            "configuration with --kernel-config FILE"
        )

    def usable(self, wanted: Sequence[str], explicit: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the compressors that the kernel may have, and notes about the others.

        Raises LayoutError if one of ``explicit``, which the user named, is among the others.
        """
        lacks = {
            compressor: why for compressor in wanted if (why := self.lack(compressor)) is not None
        }
        for compressor in explicit:
            if compressor in lacks:
                raise LayoutError(
                    lacks[compressor],
                    f"leave out --compressor {compressor}, or {self._cure(compressor)}",
                )
        reasons = (f"{compressor} is not compared: {why}" for compressor, why in lacks.items())
        notes: list[str] = [Note(reason, NoteKind.ANSWER) for reason in reasons]
        return [compressor for compressor in wanted if compressor not in lacks], notes


def support_of(
    fs: str,
    recordings: Sequence[Recording],
    own: str,
    unpacked: Collection[str] = (),
    refused: Collection[str] = (),
    config: frozenset[str] | None = None,
) -> Support:
    """Return what is known of the kernel of the recorded starts.

    ``own`` is the compressor of the present image, which the kernel has if a start ran on that file
    system; ``unpacked`` and ``refused`` are those of a measurement on the board.
    """
    mounts = [mount for recording in recordings for mount in recording.capture.mounts]
    ran_on = any(mount.fstype == fs.lower() for mount in mounts)
    shown = frozenset([*unpacked, *([own] if ran_on else [])])
    release = next((recording.kernel for recording in recordings if recording.kernel), "unknown")
    known_config = recorded_config(recordings) if config is None else config
    page_size = max((recording.page_size for recording in recordings), default=4096)
    return Support(fs, release, shown, frozenset(refused) - shown, known_config, page_size)


def recorded_config(recordings: Sequence[Recording]) -> frozenset[str] | None:
    """Return the options that the captures' kernel sets; None if none has its configuration."""
    hosts = [recording.capture.host for recording in recordings]
    options = [host.kernel_options for host in hosts if host is not None]
    # sysfs alone may have shown huge pages.
    device_options = next(
        (queue_options for queue_options in options if queue_options.keys() - {HUGE_PAGES}), None
    )
    if device_options is None:
        return None
    return frozenset(name for name, value in device_options.items() if value in ("y", "m"))


def read_kernel_config(file: StrPath) -> frozenset[str]:
    """Return the options that a kernel's configuration sets, built in or as modules.

    ``file`` is a .config, /boot/config-*, or /proc/config.gz. Raises LayoutError and OSError.
    """
    with open_regular(file) as opened:
        octets = opened.read(_MOST_CONFIG + 1)
    try:
        if octets[:2] == _GZIP:
            octets = zlib.decompressobj(wbits=31).decompress(octets, _MOST_CONFIG + 1)
    except zlib.error:
        octets = b""
    lines = octets[:_MOST_CONFIG].decode(errors="replace").splitlines()
    options = frozenset(
        name for name, _, value in (line.partition("=") for line in lines) if value in ("y", "m")
    )
    if not any(name.startswith("CONFIG_") for name in options):
        raise LayoutError(
            f"{file} is not the configuration of a kernel",
            "give its .config, /boot/config-RELEASE, or /proc/config.gz of the board",
        )
    return options
