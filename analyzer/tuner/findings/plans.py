"""Plans: the settings that suit each fingerprint's workloads, from TUNING files.

A TUNING file has the top genes of fingerprints, and of patterns (engines/patterns.py) under their
names. A pattern with fitness 0 is *inert* (IOPerf, section 7): it was seen on a machine at work,
and no settings are learnt for it yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.engines.fingerprint import BY_NAME, Fingerprint
from foreread.analyzer.tuner.engines.patterns import Pattern, nearest
from foreread.analyzer.tuner.evaluation import key_of
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.genes import Chromosome, Space
from foreread.analyzer.tuner.space.losses import loss_of
from foreread.analyzer.tuner.store.records import TopGenes
from foreread.analyzer.tuner.store.store import Store, StoreError

Plans = dict[str, list[tuple[str, str]]]
MOST_PATTERNS = 200  # in a file: 25 combinations of both shares, eight numbers of processes
INERT = 0.0


def read_plans(
    path: Path, disks: Sequence[str] = (), risked: bool = False, learns: bool = False
) -> Plans:
    """Return (knob, value) by fingerprint or pattern, for those with top genes in a TUNING file.

    Only values that differ from the campaign's initial values are set. ``disks``: if others than
    the campaign's. ``risked``: also values with which a power cut loses more than with the initial
    or the kernel's own values. ``learns``: a file without top genes is allowed, since it will learn
    them. Raises StoreError, also for such a value, and GeneError.
    """
    with Store.read(path) as store:
        space, top = CampaignSetup.of(store.spec).space, store.top_genes()
        on = list(disks) or list(store.spec.board.disks)
    if not (top or learns):
        raise StoreError(
            f"{path} is not associated with a workload",
            f"while the workload runs, type: foreread fingerprint --learn {path}",
        )
    strangers = [name for name in top if name not in BY_NAME and Pattern.named(name) is None]
    if strangers:
        raise StoreError(f"{path} has no fingerprint {min(strangers)!r}", "learn it again")
    for name, genes in top.items():
        if wrong := space.lacking(genes.chromosome):
            message = f"{path} is damaged: in the settings for {name}, {wrong}"
            raise StoreError(message, "learn them again")
    plans = {
        name: _changes(space, genes.chromosome, on)
        for name, genes in sorted(top.items(), key=lambda entry: -entry[1].fitness)
        if name in BY_NAME or genes.fitness > INERT
    }
    campaign_values = dict(space.settings(space.default(), on))
    for knob, value in [setting for plan in plans.values() for setting in plan]:
        loss = loss_of(knob, value, campaign_values.get(knob))
        if loss is not None and not risked:
            raise StoreError(
                f"{path}: {loss.sentence}", "to apply it anyway, add --allow durability"
            )
    return plans


def for_watcher(plans: Plans) -> tuple[Plans, dict[str, Pattern]]:
    """Return plans by the watcher's names, and the patterns by them; of equals the fittest first.

    The watcher's name of a pattern is its fingerprint, "_" and a number (tracer/remote/watch.sh).
    """
    named: Plans = {}
    patterns: dict[str, Pattern] = {}
    for name, plan in plans.items():
        pattern = Pattern.named(name)
        if pattern is not None:
            name = f"{pattern.class_name}_{len(patterns) + 1}"  # noqa: PLW2901
            patterns[name] = pattern
        named[name] = plan
    return named, patterns


def patterns_in(path: Path) -> dict[Pattern, TopGenes]:
    """Return the patterns in a TUNING file, including inert ones, in the order of storing."""
    with Store.read(path) as store:
        return _patterns(store)


def note_pattern(path: Path, pattern: Pattern) -> bool:
    """Store a pattern as inert, unless one within its clearance is known; return whether it was.

    Raises StoreError.
    """
    with Store.resume(path) as store:
        patterns = _patterns(store)
        if len(patterns) >= MOST_PATTERNS or nearest(patterns, pattern) is not None:
            return False
        store.put_top_genes(pattern.name, TopGenes(store.spec.default, INERT))
    return True


def keep_pattern(path: Path, pattern: Pattern, learnt: TopGenes) -> None:
    """Store the settings learnt for a pattern. Raises StoreError."""
    with Store.resume(path) as store:
        store.put_top_genes(pattern.name, learnt)


def _patterns(store: Store) -> dict[Pattern, TopGenes]:
    named = ((Pattern.named(name), genes) for name, genes in store.top_genes().items())
    return {pattern: genes for pattern, genes in named if pattern is not None}


def check_learning(path: Path) -> None:
    """Raise StoreError if nothing can be learnt into the file ``path``."""
    with Store.read(path):
        pass


def learn(path: Path, fingerprint: Fingerprint) -> Chromosome:
    """Store the best of a TUNING file as the top genes of a fingerprint; return it.

    The best is the confirmed part of the winner, if any. Raises StoreError, also if scenarios took
    turns, and GeneError.
    """
    with Store.resume(path) as store:
        results = Results.of(store)
        if results.takes_turns:
            raise StoreError(
                f"{path} has learnt settings for several workloads",
                f"apply them with: foreread fingerprint --watch --apply {path}",
            )
        confirmed = results.confirmed
        best = results.winner if confirmed.to_run else confirmed.chromosome
        fitness = results.standings.fitness(key_of(results.winner))
        store.put_top_genes(str(fingerprint), TopGenes(best, fitness))
    return best


def _changes(space: Space, chromosome: Chromosome, disks: Sequence[str]) -> list[tuple[str, str]]:
    default_values = dict(space.settings(space.default(), disks))
    settings = space.settings(space.repair(chromosome), disks)
    return [(knob, value) for knob, value in settings if default_values.get(knob) != value]
