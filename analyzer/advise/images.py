"""Offers of other images: order of files, block size and compressor (``analyzer.layout``)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from foreread.analyzer.advise.offer import Offer
from foreread.analyzer.advise.situation import Situation
from foreread.analyzer.advise.variant import Replayed, Variant
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.layout.compared import (
    LayoutQuestion,
    image_sizes,
    layouts_of,
    stored_bytes,
)
from foreread.analyzer.layout.on_image import OnImage, on_image
from foreread.analyzer.layout.opened_image import kind_of, opened
from foreread.analyzer.layout.order import order_of
from foreread.analyzer.layout.predicted import Case, Layout, case, cases, counted
from foreread.analyzer.layout.seconds import Timing, relaid_run, timing
from foreread.boards.base.units import KIB
from foreread.emulator.images.compressors import COMPRESSORS
from foreread.emulator.images.source import Octets
from foreread.emulator.images.squashfs import SquashfsImage, read_squashfs
from foreread.emulator.linux.steps import CpuCost, Run

GENE = "image"
_RISK = "most blocks of the image change, and so does what an update by difference sends"


@dataclass(frozen=True, eq=False)
class Relaid:
    """One recorded start on an image in another layout; ``present`` is its case on the image.

    ``plain`` is the start without other changes, and ``image`` has the layout. Alone, the layout
    changes the seconds as much as in ``foreread layout``: by the difference of two replays that
    count no computing for reads, and of the times to unpack what is read. With other changes the
    replay has the time to unpack pages in the steps that read them; the rest is added.
    """

    timing: Timing
    plain: Variant
    present: Case
    layout: Layout
    image: SquashfsImage
    _cases: dict[tuple[bool, int], tuple[Case, float]] = field(default_factory=dict)
    _rest: dict[int, float] = field(default_factory=dict)

    def replayed(self, variant: Variant, draw: int | None) -> Replayed:
        """Replay a variant of the start on the image."""
        outcome = self._unpacking(variant, draw)
        window = variant.window
        if window not in self._rest:
            self._rest[window] = self._rest_ns(replace(self.plain, window=window))
        return Replayed(outcome.ns + self._rest[window], outcome.pages)

    def _rest_ns(self, plain: Variant) -> float:
        """Return what the replay with the time to unpack lacks of the seconds of the layout."""
        after_ns, before_ns = (self._alone_ns(plain, present) for present in (False, True))
        alone_ns = plain.replayed().ns + after_ns - before_ns
        return alone_ns - self._unpacking(plain, None).ns

    def _alone_ns(self, plain: Variant, present: bool) -> float:
        """Return the time of a replay without computing for reads, with the time beside it.

        A start that was recorded on another file system is compared with that.
        """
        bare = plain.without_costs()
        if present and self.timing.start.recorded_block_pages == 1:
            return bare.replayed().ns
        image_case, beside_ns = self._case(plain.window, present)
        return bare.with_run(self._run(bare.run, image_case)).replayed().ns + beside_ns

    def _unpacking(self, variant: Variant, draw: int | None) -> Replayed:
        """Replay a variant on the image, with the time to unpack in the steps that read."""
        image_case, _ = self._case(variant.window, False)
        old = variant.start.cpu
        new = self.timing.unpacking[self.layout.compressor].at(image_case.image.block_size)
        cpu = replace(old, page_ns=new.page_ns, sector_ns=new.sector_ns)
        start = replace(variant.start, cpu=cpu, cpu_samples=None, unplugged_ns=0.0)
        work = _in_other_costs(variant.recorded.work, old, cpu)
        other = replace(
            variant, start=start, recorded=replace(variant.recorded, work=work), image=None
        )
        return other.with_run(self._run(other.run, image_case)).replayed(draw)

    def _run(self, run: Run, image_case: Case) -> Run:
        return relaid_run(run, self.timing.start, image_case)

    def _case(self, window: int, present: bool) -> tuple[Case, float]:
        """Return the case at a window, and its time beside the replay."""
        key = present, window
        if key not in self._cases:
            start = self.timing.start
            layout, image = (None, start.image) if present else (self.layout, self.image)
            image_case = case(start, layout, image, start.touches(image.block_size, window), window)
            ns = self.timing.beside_ns(image_case, counted(start, image_case, self.present))
            self._cases[key] = image_case, ns or 0.0
        return self._cases[key]


def _in_other_costs(work: Array, old: CpuCost, new: CpuCost) -> Array:
    """Return work with pages that cost, by ``new``, as much as its pages and sectors by ``old``.

    What rounding leaves is in the steps that follow.
    """
    adapted = work.copy()
    adapted[:, 1:3] = 0
    if new.page_ns > 0:
        ns = work[:, 1] * old.page_ns + work[:, 2] * old.sector_ns
        adapted[:, 1] = np.diff(np.rint(np.cumsum(ns) / new.page_ns), prepend=0.0)
    return adapted


def image_offers(
    image: StrPath, mountpoint: str | None = None, asked: LayoutQuestion | None = None
) -> Callable[[Situation], Iterator[Offer | str]]:
    """Return the source of offers to build an image differently; strings are notes.

    Offered are the order alone, and the best block size with each compressor whose time to unpack
    is known. The source raises LayoutError for captures of another image, and ImageError for a file
    that is not one.
    """
    return partial(
        _offers, image=Path(image), mountpoint=mountpoint, question=asked or LayoutQuestion()
    )


def _offers(
    situation: Situation, image: Path, mountpoint: str | None, question: LayoutQuestion
) -> Iterator[Offer | str]:
    with opened(image) as octets:
        kind = kind_of(octets)
        if kind != "squashfs":
            yield f"no layout of {image} is compared: predictions are for squashfs, not {kind}"
            return
        tables = read_squashfs(octets)
        starts = [
            on_image(variant.start.recording, tables, mountpoint) for variant in situation.present
        ]
        support = question.support(
            [variant.start.recording for variant in situation.present], tables
        )
        layouts, notes = layouts_of(tables, _comparable(tables, question), support)
        yield from notes
        every = [
            _relaid(situation, plain, start, octets, layouts, question)
            for plain, start in zip(situation.present, starts, strict=True)
        ]
    predictable = [at for at in range(len(layouts)) if all(column[at] for column, _ in every)]
    unknown = [
        compressor
        for compressor in question.compressors or COMPRESSORS
        if compressor not in _in(layouts, predictable)
    ]
    if unknown:
        yield (
            f"no seconds of images with {', '.join(unknown)}: measure the time to unpack with "
            "foreread layout … --target T, and give its file with --unpacking"
        )
    sizes = image_sizes(tables, every[0][1], layouts)
    offers = []
    for at in predictable:
        columns = [column[at] for column, _ in every]
        relaid = {id(v.start.recording): c for v, c in zip(situation.present, columns, strict=True)}
        offers.append(_offer(situation, image, layouts[at], relaid, sizes[at + 1], sizes[0]))
    yield from _best(situation, layouts, predictable, offers)


def _comparable(image: SquashfsImage, question: LayoutQuestion) -> LayoutQuestion:
    """Return what to compare, without compressors of unknown time to unpack."""
    own = image.superblock.compressor
    wanted = question.compressors or COMPRESSORS
    timed = tuple(
        compressor
        for compressor in wanted
        if compressor == own or compressor in (question.unpacking or {})
    )
    return replace(question, compressors=timed or wanted)


def _in(layouts: Sequence[Layout], rows: Sequence[int]) -> set[str]:
    return {layouts[at].compressor for at in rows}


def _relaid(
    situation: Situation,
    plain: Variant,
    start: OnImage,
    octets: Octets,
    layouts: Sequence[Layout],
    question: LayoutQuestion,
) -> tuple[list[Relaid | None], list[int]]:
    """Return the start in each layout, None where its seconds are unknown, and the bytes of data.

    The first of these bytes are the present image's.
    """
    unpacking = question.unpacking or {}
    image_cases = cases(start, octets, layouts, order_of([start.start]), situation.now)
    present = next(image_cases)
    timed = timing(start, present, unpacking, plain.start.device)
    column: list[Relaid | None] = []
    stored = [stored_bytes(present)]
    for layout, image_case in zip(layouts, image_cases, strict=True):
        stored.append(stored_bytes(image_case))
        is_known = timed.beside_ns(image_case, counted(start, image_case, present)) is not None
        column.append(Relaid(timed, plain, present, layout, image_case.image) if is_known else None)
    return column, stored


def _best(
    situation: Situation,
    layouts: Sequence[Layout],
    predictable: Sequence[int],
    offers: Sequence[Offer],
) -> Iterator[Offer]:
    """Yield the offer of the order alone, and the fastest with each compressor."""
    best: dict[str, tuple[float, Offer]] = {}
    variant = situation.present[0]
    for at, offer in zip(predictable, offers, strict=True):
        seconds = offer.apply(variant).cost().seconds
        if at == 0:
            yield offer
        name = layouts[at].compressor
        if name not in best or seconds < best[name][0]:
            best[name] = seconds, offer
    yield from (offer for _, offer in best.values() if not predictable or offer is not offers[0])


def _offer(
    situation: Situation,
    image: Path,
    layout: Layout,
    relaid: dict[int, Relaid | None],
    octets: int,
    present: int,
) -> Offer:
    kib = layout.block_size // KIB
    capture, file = shlex.quote(situation.path), shlex.quote(str(image))
    return Offer(
        "layout",
        GENE,
        f"image in the order of the start, blocks of {kib:,} KiB with {layout.compressor}",
        partial(_on, relaid=relaid),
        (
            f"foreread layout {capture} --image {file} --block-size {kib} --compressor "
            f"{layout.compressor} -o layout",
            f"mksquashfs ROOT image -sort layout/squashfs.sort -b {kib}K -comp {layout.compressor}",
        ),
        "a new image",
        _RISK,
        flash_bytes=octets,
        image_bytes=octets - present,
    )


def _on(variant: Variant, relaid: dict[int, Relaid | None]) -> Variant:
    return replace(variant, image=relaid[id(variant.start.recording)])
