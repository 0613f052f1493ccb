"""Writes the folder for those who build images: sort files, and how to use them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from jinja2 import Environment, PackageLoader, StrictUndefined

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.layout.order import LayoutError, Ordered
from foreread.analyzer.layout.sort_files import (
    gensquashfs_sort_file,
    mksquashfs_sort_file,
    not_for_gensquashfs,
)
from foreread.analyzer.layout.unpacking_file import Measured
from foreread.boards.base.printable import printable
from foreread.boards.base.units import KIB
from foreread.boards.base.written import write_whole

_SPECIAL = re.compile(rb"[][.^$*+?(){}|\\]")
_PROGRAMS = ("reordered-tar", "ordered-ext4", "ordered-erofs")


@dataclass(frozen=True)
class ErofsWords:
    """The compressor of mkfs.erofs, and the largest cluster of the files that starts read."""

    compressor: str = "lz4hc"
    cluster_size: int = 4096  # bytes

    @property
    def options(self) -> tuple[str, ...]:
        """The options for its compressor."""
        if self.compressor == "none":
            return ()
        size = (f"-C{self.cluster_size}",) if self.cluster_size > ErofsWords.cluster_size else ()
        return (f"-z{self.compressor}", *size)


def write_layout(
    order: Sequence[Ordered],
    output: StrPath,
    *,
    starts: int = 1,
    block_size: int | None = None,
    compressor: str | None = None,
    fragmented: bool = True,
    measured: Measured | None = None,
    erofs: ErofsWords | None = None,
    doubt: str | None = None,
) -> list[Path]:
    """Write the sort files of an order and INSTALL.md into a folder; return them.

    ``measured`` is written as unpacking.json.

    ``block_size`` (bytes), ``compressor`` and ``fragmented`` become options in INSTALL.md; None:
    the builder's own.
    ``erofs`` are those of mkfs.erofs. ``doubt`` says why the board may not mount such an image.
    All texts are made before the first is written. Raises LayoutError for names that no sort file
    can contain, and OSError.
    """
    if not order:
        raise LayoutError("the order has no files", "record a start on the image's file system")
    texts = {
        "squashfs.sort": mksquashfs_sort_file(order),
        "gensquashfs.sort": gensquashfs_sort_file(order),
        "tar.first": _tar_first(order),
        "compress.hints": _compress_hints(order, erofs or ErofsWords()),
    }
    texts |= _instructions(
        order, starts, block_size, compressor, fragmented, erofs or ErofsWords(), doubt
    )
    if measured is not None:
        texts["unpacking.json"] = measured.document.to_json().encode() + b"\n"
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in texts.items():
        mode = 0o755 if name in _PROGRAMS else 0o644
        write_whole(folder / name, text, mode)
        files.append(folder / name)
    return files


def _instructions(
    order: Sequence[Ordered],
    starts: int,
    block_size: int | None,
    compressor: str | None,
    fragmented: bool,
    erofs: ErofsWords,
    doubt: str | None,
) -> dict[str, bytes]:
    environment = Environment(
        loader=PackageLoader("foreread.analyzer.layout"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown and shell
    )
    environment.filters["code"] = _code
    kib = None if block_size is None else block_size // KIB
    words = ([f"-b {kib}K"] if kib else []) + ([f"-comp {compressor}"] if compressor else [])
    words += [] if fragmented else ["-no-fragments"]
    own = ([f"--block-size {block_size}"] if block_size else []) + (
        [f"--compressor {compressor}"] if compressor else []
    )
    context = {
        "files": f"{len(order):,}",
        "starts": starts,
        "left_out": not_for_gensquashfs(order),
        "options": "".join(f" {word}" for word in words),
        "gensquashfs_options": "".join(f" {word}" for word in own),
        "block_kib": kib,
        "erofs_options": "".join(f" {word}" for word in erofs.options),
        "erofs_compressor": erofs.compressor,
        "doubt": doubt,
    }
    return {
        name: environment.get_template(f"{name}.j2")
        .render(context)
        .encode(errors="surrogateescape")
        for name in ("INSTALL.md", *_PROGRAMS)
    }


def _tar_first(order: Sequence[Ordered]) -> bytes:
    """Return names for tar, one a line: directories come before what is in them."""
    names: dict[str, None] = {}
    for entry in order:
        for parent in reversed(PurePosixPath(entry.path).parents):
            if str(parent) != "/":
                names.setdefault(str(parent))
        names.setdefault(entry.path)
    return b"".join(b"." + os.fsencode(name) + b"\n" for name in names)


def _compress_hints(order: Sequence[Ordered], erofs: ErofsWords) -> bytes:
    """Return lines for ``mkfs.erofs --compress-hints``: the cluster size of each file.

    Names are extended regular expressions. Those that no line can contain are left out.
    """
    lines = [
        b"%d ^%s$" % (erofs.cluster_size, _SPECIAL.sub(rb"\\\g<0>", os.fsencode(entry.path[1:])))
        for entry in order
        if not set(entry.path) & set(" \t\r\n")
    ]
    return b"".join(line + b"\n" for line in lines)


def _code(text: str) -> str:
    """Return a path as one line of Markdown code."""
    return printable(text).replace("`", r"\x60")
