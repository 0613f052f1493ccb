"""Offers of values of genes other than the window, alone and together with the best window."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from foreread.analyzer.advise.bench import NOTHING, Bench, Chosen
from foreread.analyzer.advise.document import RowTrial, TrialSetting
from foreread.analyzer.advise.offer import Offer
from foreread.analyzer.advise.search import MORE
from foreread.analyzer.advise.situation import Situation
from foreread.analyzer.advise.variant import Variant
from foreread.analyzer.predict.settings import (
    INODES,
    LARGEST,
    QUEUE,
    Setting,
    settings_of,
    unpredicted,
)
from foreread.analyzer.predict.start import Start
from foreread.boards.knobs import KnobError, check_setting
from foreread.tracer.formats.capture import dev_of

_RISKS = {
    INODES: "what looks at many files of a folder later, such as ls -l, takes more requests",
    LARGEST: "it holds for writes, too; Linux 6.12 and later reset read_ahead_kb when it is set",
    QUEUE: "a longer queue delays the reads of other processes",
}


def settings(situation: Situation) -> list[Offer]:
    """Return an offer for each value of another gene that the replay can predict."""
    return [_offer(situation, setting) for setting in settings_of(situation.present[0].start)]


def unpredicted_settings(situation: Situation) -> Iterator[str]:
    """Yield why the value of a gene is not predicted."""
    why = unpredicted(situation.present[0].start)
    if why is not None:
        yield why


def best_alone(bench: Bench, offers: Iterable[Offer]) -> list[Offer]:
    """Return the offer of each gene that saves most."""
    best_by_gene: dict[str, Offer] = {}
    for offer in offers:
        best = best_by_gene.setdefault(offer.gene, offer)
        if bench.saved(frozenset([offer])) > bench.saved(frozenset([best])):
            best_by_gene[offer.gene] = offer
    return list(best_by_gene.values())


def with_windows(bench: Bench, offers: Iterable[Offer], windows: Iterable[Offer]) -> list[Chosen]:
    """Return for each gene its best value and window together, if both save more than either.

    Every value is replayed with every window.
    """
    by_gene: dict[str, list[Offer]] = {}
    for offer in offers:
        by_gene.setdefault(offer.gene, []).append(offer)
    tried = list(windows)
    improving = []
    for own in by_gene.values():
        pairs = [frozenset([value, window]) for value in own for window in tried]
        single = [frozenset([offer]) for offer in (*own, *tried)]
        best = min(pairs, key=lambda combination: bench.cost(combination).seconds, default=NOTHING)
        alone = min(
            single, key=lambda combination: bench.cost(combination).seconds, default=NOTHING
        )
        if best and bench.worth(best, alone, MORE):
            improving.append(best)
    return improving


def _offer(situation: Situation, setting: Setting) -> Offer:
    start = situation.present[0].start
    present = _present(start, setting.gene)
    return Offer(
        "setting",
        setting.gene,
        f"{setting.gene} of {setting.value:,} instead of {present:,}",
        partial(_changed, setting=setting),
        tuple(_how(start, setting)),
        "one setting",
        _RISKS[setting.gene],
        trial=_trial(start, setting),
    )


def _changed(variant: Variant, setting: Setting) -> Variant:
    start, rows = setting.applied(variant.start)
    work = np.insert(variant.recorded.work, rows, 0, axis=0)
    return replace(variant, start=start, recorded=replace(variant.recorded, work=work))


def _present(start: Start, gene: str) -> int:
    limits = start.run.limits
    present = {LARGEST: limits.max_sectors_kb, QUEUE: limits.nr_requests}
    return present[gene] if gene in present else start.inode_tables[0].ahead


def _how(start: Start, setting: Setting) -> Iterator[str]:
    """Yield what to type for a setting, now and at every boot."""
    if setting.gene != INODES:
        for knob, value in _knobs(start, setting):
            yield f"echo {value} >{knob}"
        return
    option = f"{setting.gene}={setting.value}"
    for tables in start.inode_tables:
        path = tables.mountpoint
        yield f"mount -o remount,{option} {shlex.quote(path)}"
        if path == "/":
            yield f"at every boot: rootflags={option} on the kernel's command line"
        else:
            yield f"at every boot: {option} among the options of {path} in /etc/fstab"


def _knobs(start: Start, setting: Setting) -> list[tuple[str, str]]:
    """Return the knobs of a setting, and their values."""
    if setting.gene == INODES:
        knobs = [f"mount:{setting.gene}=:{tables.mountpoint}" for tables in start.inode_tables]
    else:
        devices = start.recording.capture.devices
        names = [device.name for device in devices if dev_of(device.dev) == start.disk]
        knobs = [f"/sys/block/{name}/queue/{setting.gene}" for name in names]
    return [(knob, str(setting.value)) for knob in knobs]


def _trial(start: Start, setting: Setting) -> RowTrial | None:
    """Return the setting as runs can have it; None if a path has unusual characters."""
    knobs = _knobs(start, setting)
    try:
        for knob, value in knobs:
            check_setting(knob, value)
    except KnobError:
        return None
    return RowTrial(settings=[TrialSetting(knob, value) for knob, value in knobs])
