"""A prefetch list in the formats of other replayers, each as the replayer's parser reads it.

``rsinit``: JSON of rsinit's readahead, ``{"files": [path], "blocks": [[file, at, number]]}`` in
blocks of 4096 bytes (rsinit, src/readahead.rs). ``nydus``: one absolute path a line, for standard
input of ``nydus-image create --prefetch-policy fs`` (nydus, builder/src/core/prefetch.rs).
``stargz``: a JSON object a line, for ``--estargz-record-in`` of nerdctl (stargz-snapshotter,
recorder). ``soci``: a JSON array of paths, for ``soci create --prefetch-files-json``. ``android``:
the records file of libprefetch (``android.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.prefetch.android import records_file
from foreread.analyzer.prefetch.listing import PrefetchError, Range, encode
from foreread.analyzer.prefetch.ranges import Found

Format = Literal["foreread", "android", "rsinit", "nydus", "stargz", "soci"]
FORMATS: tuple[Format, ...] = get_args(Format)
WHOLE_FILES = frozenset({"nydus", "stargz", "soci"})  # formats without ranges
_BLOCK = 4096  # of rsinit, for any page size


@dataclass(frozen=True)
class Written:
    """The text of a list; ``left_out`` are paths that the format cannot name."""

    content: bytes
    left_out: tuple[str, ...] = ()


def written(recording: Recording, ranges_found: Found, form: Format) -> Written:
    """Return the list of a recording in a format.

    Raises PrefetchError if the format can name none of its files.
    """
    if form == "foreread":
        return Written(encode(ranges_found.listing))
    fits = _FITS.get(form, _is_text)
    paths = dict.fromkeys(part.path for part in ranges_found.listing.ranges)
    kept = {path for path in paths if fits(path)}
    if not kept:
        raise PrefetchError(
            f"the format {form} cannot name any of the files", "choose another --format"
        )
    rows = [
        (row, part)
        for row, part in zip(ranges_found.rows, ranges_found.listing.ranges, strict=True)
        if part.path in kept
    ]
    left_out = tuple(path for path in paths if path not in kept)
    ranges = [part for _, part in rows]
    if form == "android":
        return Written(records_file(recording, [row for row, _ in rows], ranges), left_out)
    return Written(_ENCODERS[form](ranges), left_out)


def _is_text(path: str) -> bool:
    """Return whether a path is UTF-8, as the strings of these Rust and Go programs are."""
    return not any("\ud800" <= letter <= "\udfff" for letter in path)


def _is_line(path: str) -> bool:
    """Return whether a path is unchanged after a line is read and trimmed."""
    return _is_text(path) and path == path.strip() and not {"\n", "\r"} & set(path)


def _is_trimmed(path: str) -> bool:
    """Return whether a path is unchanged after a trim."""
    return _is_text(path) and path == path.strip()


def _rsinit(ranges: list[Range]) -> bytes:
    files = [*dict.fromkeys(part.path for part in ranges)]
    row = {path: at for at, path in enumerate(files)}
    blocks = [
        [row[part.path], part.offset // _BLOCK, _blocks(part.offset, part.length)]
        for part in ranges
    ]
    return json.dumps({"files": files, "blocks": blocks}, ensure_ascii=False).encode()


def _blocks(offset: int, length: int) -> int:
    return -(-(offset + length) // _BLOCK) - offset // _BLOCK


def _nydus(ranges: list[Range]) -> bytes:
    return "".join(f"{path}\n" for path in _paths(ranges)).encode()


def _stargz(ranges: list[Range]) -> bytes:
    names = (path.lstrip("/") for path in _paths(ranges))
    return "".join(f"{json.dumps({'path': name})}\n" for name in names).encode()


def _soci(ranges: list[Range]) -> bytes:
    return (json.dumps([*_paths(ranges)], ensure_ascii=False, indent=1) + "\n").encode()


def _paths(ranges: list[Range]) -> dict[str, None]:
    return dict.fromkeys(part.path for part in ranges)


_ENCODERS: dict[Format, Callable[[list[Range]], bytes]] = {
    "rsinit": _rsinit,
    "nydus": _nydus,
    "stargz": _stargz,
    "soci": _soci,
}
_FITS: dict[Format, Callable[[str], bool]] = {"nydus": _is_line, "soci": _is_trimmed}
