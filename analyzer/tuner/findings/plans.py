"""Plans: the settings that suit each fingerprint's workloads, out of TUNING files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analyzer.tuner.campaign.campaign_setup import CampaignSetup
from analyzer.tuner.engines.fingerprint import BY_NAME, Fingerprint
from analyzer.tuner.evaluation import key_of
from analyzer.tuner.findings.results import Results
from analyzer.tuner.space.genes import Chromosome, Space
from analyzer.tuner.space.losses import loss_of
from analyzer.tuner.store.records import TopGenes
from analyzer.tuner.store.store import Store, StoreError

Plans = dict[str, list[tuple[str, str]]]


def read_plans(path: Path, disks: Sequence[str] = (), risked: bool = False) -> Plans:
    """Return (knob, value) by fingerprint, for the fingerprints with top genes in a TUNING file.

    Only values that differ from those the campaign found are set. ``disks``: if others than the
    campaign's. ``risked``: also values with which a power cut loses more than with those found or
    the kernel's own. Raises StoreError, also for such a value, and GeneError.
    """
    with Store.read(path) as store:
        space, top = CampaignSetup.of(store.spec).space, store.top_genes()
        on = list(disks) or list(store.spec.board.disks)
    if not top:
        raise StoreError(
            f"{path} is not associated with a workload",
            f"while the workload runs, type: foreread fingerprint --learn {path}",
        )
    if strangers := top.keys() - BY_NAME.keys():
        raise StoreError(f"{path} has no fingerprint {min(strangers)!r}", "learn it again")
    for name, genes in top.items():
        if wrong := space.lacking(genes.chromosome):
            message = f"{path} is damaged: in the settings for {name}, {wrong}"
            raise StoreError(message, "learn them again")
    plans = {name: _changes(space, genes.chromosome, on) for name, genes in top.items()}
    found = dict(space.settings(space.default(), on))
    for knob, value in [setting for plan in plans.values() for setting in plan]:
        loss = loss_of(knob, value, found.get(knob))
        if loss is not None and not risked:
            raise StoreError(
                f"{path}: {loss.sentence}", "to apply it anyway, add --allow durability"
            )
    return plans


def check_learning(path: Path) -> None:
    """Raise StoreError if nothing can be learnt into the file ``path``."""
    with Store.read(path):
        pass


def learn(path: Path, fingerprint: Fingerprint) -> Chromosome:
    """Store the best of a TUNING file as the top genes of a fingerprint; return it.

    It is the confirmed part of the winner, if any. Raises StoreError, also if scenarios took turns,
    and GeneError.
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
    found = dict(space.settings(space.default(), disks))
    settings = space.settings(space.repair(chromosome), disks)
    return [(knob, value) for knob, value in settings if found.get(knob) != value]
