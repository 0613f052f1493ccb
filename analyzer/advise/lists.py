"""Offers of lists that are read beside the start: of all that it reads, or of some files."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath

from foreread.analyzer.advise.document import RowTrial
from foreread.analyzer.advise.early import beside_the_start
from foreread.analyzer.advise.offer import Offer
from foreread.analyzer.advise.situation import Situation, files_of
from foreread.analyzer.advise.variant import Variant
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.prefetch.listing import PrefetchError, can_be_listed, encode
from foreread.analyzer.prefetch.ranges import Found, find_ranges
from foreread.boards.base.counted import plural

GENE = "list"
WHOLE = "start.list"
_LONGEST_NAME = 100  # of a list's file, without what is around it
MOST_GROUPS, MOST_FILES = 12, 12
_FEWEST_IN_GROUP = 3
_SHARE = 0.9  # of all requests: such a group is the whole list


def whole_list(situation: Situation) -> Offer | None:
    """Return the offer of the prefetch list of the start; None if nothing can be listed."""
    whole = _listed(situation)
    if whole is None:
        return None
    paths = frozenset(part.path for part in whole.listing.ranges)
    capture = shlex.quote(situation.path)
    return Offer(
        "list",
        GENE,
        f"prefetch list of {plural(len(whole.listing.ranges), 'range')} of "
        f"{plural(len(paths), 'file')}, read while the application starts",
        partial(_beside, paths=paths, gap=situation.gap),
        (
            f"foreread prefetch {capture} -o {WHOLE}",
            f"foreread script {capture} -o boot-script --prefetch {WHOLE}",
        ),
        "a list on the board",
        "a list of another build reads pages that are not needed: check it with foreread prefetch "
        "--check",
        flash_bytes=len(encode(whole.listing)),
        trial=RowTrial(listing=WHOLE),
        lists={WHOLE: encode(whole.listing)},
    )


def _listed(situation: Situation, paths: Sequence[str] = ()) -> Found | None:
    """Return the list of the start, with ``paths`` alone if there are any."""
    page = situation.prediction.page_size
    try:
        return find_ranges(situation.recording, "access", situation.gap * page, paths)
    except PrefetchError:
        return None


def groups(situation: Situation) -> Iterator[Offer]:
    """Yield offers to read some files from the beginning: single ones, and those below a folder."""
    recording, requests = situation.recording, situation.requests
    listed = [row for row, path in enumerate(recording.paths) if can_be_listed(path)]
    listed = [row for row in listed if requests[row] > 0]
    rows = sorted(listed, key=lambda row: -requests[row])
    for row in rows[:MOST_FILES]:
        yield _offer(situation, [row], str(recording.paths[row]), "")
    for folder, inside in _folders(recording.paths, rows, requests)[:MOST_GROUPS]:
        yield _offer(situation, inside, f"{folder}/", f" ({plural(len(inside), 'file')})")


def _folders(
    paths: tuple[str | None, ...], rows: list[int], requests: Array
) -> list[tuple[str, list[int]]]:
    """Return folders with the files below them, those with most requests first.

    Of folders with the same files the deepest; none that has nearly all files.
    """
    below: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        for parent in PurePosixPath(str(paths[row])).parents:
            if str(parent) != "/":
                below[str(parent)].append(row)
    deepest: dict[tuple[int, ...], str] = {}
    for folder, inside in below.items():
        key = tuple(inside)
        if len(deepest.get(key, "")) < len(folder):
            deepest[key] = folder
    total = int(requests[rows].sum())
    folders = [
        (name, [*inside])
        for inside, name in deepest.items()
        if len(inside) >= _FEWEST_IN_GROUP and requests[[*inside]].sum() < _SHARE * total
    ]
    return sorted(folders, key=lambda folder: -int(requests[folder[1]].sum()))


def _offer(situation: Situation, rows: list[int], where: str, number: str) -> Offer:
    recording = situation.recording
    paths = frozenset(str(recording.paths[row]) for row in rows)
    group = _listed(situation, sorted(paths))
    text = encode(group.listing) if group else b""
    name = "-".join(PurePosixPath(where).parts[1:])[-_LONGEST_NAME:]
    name = f"early-{re.sub(r'[^A-Za-z0-9._+-]', '_', name)}.list"
    words = ["foreread", "prefetch", situation.path, "-o", name, "--only", where]
    return Offer(
        "beside",
        GENE,
        f"read {where}{number} from the beginning of the start, beside it",
        partial(_beside, paths=paths, gap=situation.gap),
        (shlex.join(words), f"foreread-prefetch {name} &  # before the application"),
        "a list on the board",
        "reads compete with those of the application for the disk",
        flash_bytes=len(text),
        files=paths,
        trial=RowTrial(listing=name) if text else None,
        lists={name: text} if text else {},
    )


def _beside(variant: Variant, paths: frozenset[str], gap: int) -> Variant:
    return beside_the_start(variant, files_of(variant.start.recording, paths), gap)
