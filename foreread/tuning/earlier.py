"""What a new tuning begins from: the predicted settings, and the earlier campaign of ``--from``."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from foreread.analyzer.predict.criterion import SECONDS
from foreread.analyzer.predict.proposal import Proposal
from foreread.analyzer.tuner.campaign.weights import weights_of, weights_text
from foreread.analyzer.tuner.engines.earlier import Earlier
from foreread.analyzer.tuner.engines.predicted import is_window
from foreread.analyzer.tuner.engines.proposed import ProposedGenes, widened
from foreread.analyzer.tuner.findings.earlier import earlier_of
from foreread.analyzer.tuner.findings.results import Results, read_results
from foreread.analyzer.tuner.space.catalogue import WINDOW
from foreread.analyzer.tuner.space.genes import Allele, Space
from foreread.boards.base.counted import plural
from foreread.error import ArgumentError
from foreread.recording.recorded_start import board_pairs
from foreread.tracer.formats.capture import FileEntry
from foreread.tracer.trials.trial import TrialBench
from foreread.tuning.options import TuneOptions, weights_in_words


def with_predicted(names: Sequence[str], proposal: Proposal | None) -> list[str]:
    """Return the genes of a space: those to tune, and those that are predicted."""
    predicted = [] if proposal is None else [WINDOW, *proposal.settings]
    return list(dict.fromkeys([*names, *predicted]))


def with_alleles(space: Space, proposal: Proposal | None) -> Space:
    """Return the space with the predicted values among the choices of its genes."""
    if proposal is None:
        return space
    for alleles in (_window(space, proposal), _settings(space, proposal)):
        space = widened(space, alleles)
    return space


def proposed_genes(
    options: TuneOptions, space: Space, tell: Callable[[str], None]
) -> ProposedGenes | None:
    """Return the predicted alleles of a space, and say what the search begins with.

    None without a prediction, or if the machine has no window to set.
    """
    proposal = options.proposal
    if proposal is None:
        return None
    window, settings = _window(space, proposal), _settings(space, proposal)
    if not window:
        tell(f"the predicted window cannot be set here: {space.left_out.get(WINDOW, 'no disk')}")
        return None
    wanted = set(options.genes)
    held = [name for name in settings if wanted and name.split(":")[0] not in wanted]
    tell(_beginning(proposal, window, settings, held))
    return ProposedGenes(window=window, settings=settings, criterion=proposal.criterion, held=held)


def _window(space: Space, proposal: Proposal) -> dict[str, Allele]:
    """Return the predicted window of each disk, by gene."""
    return {
        gene.name: proposal.by_disk.get(gene.disk, proposal.read_ahead_kb)
        for gene in filter(is_window, space.genes)
    }


def _settings(space: Space, proposal: Proposal) -> dict[str, Allele]:
    """Return all predicted alleles by gene, with the best window for these alleles."""
    predicted = {gene.name: proposal.settings.get(gene.name.split(":")[0]) for gene in space.genes}
    others: dict[str, Allele] = {
        name: allele for name, allele in predicted.items() if allele is not None
    }
    windows = _window(space, proposal)
    if others and proposal.beside_kb is not None:
        windows = dict.fromkeys(windows, proposal.beside_kb)
    return {**windows, **others}


def _beginning(
    proposal: Proposal,
    window: Mapping[str, Allele],
    settings: Mapping[str, Allele],
    held: Sequence[str],
) -> str:
    by = "" if proposal.criterion == SECONDS else " by the published criterion"
    text = f"begins with the predicted window{by}: {_settings_text(window)}"
    if settings.keys() - window.keys():
        text += f"; and with {_settings_text(settings)}"
    if held:
        text += f". In force in every run, since --genes does not name it: {', '.join(held)}"
    return text


def _settings_text(settings: Mapping[str, Allele]) -> str:
    return ", ".join(f"{name}={allele}" for name, allele in settings.items())


def earlier_campaign(options: TuneOptions, tell: Callable[[str], None]) -> Earlier | None:
    """Return what the options' earlier campaign found; None without one.

    ``tell`` hears in what the two differ. Raises StoreError for a file that is not a sound TUNING,
    EarlierError for one without good runs, ArgumentError for one with another objective.
    """
    if options.earlier is None:
        return None
    results = read_results(options.earlier)
    if results.spec.objective != "seconds":
        raise ArgumentError(
            f"{options.earlier} maximises a rate, and this search minimises seconds",
            "give --from the file of a campaign that measured starts",
        )
    earlier = earlier_of(results)
    for note in _differences(Path(options.earlier), options, results):
        tell(note)
    board = results.spec.board
    tell(f"begins from {plural(earlier.attempts, 'run')} of {board.name} (Linux {board.kernel})")
    return earlier


def check_recorded(options: TuneOptions, bench: TrialBench, tell: Callable[[str], None]) -> None:
    """Say in what the board of the prediction differs from this one."""
    for what, here, recorded in board_pairs(bench, options.capture):
        if here != recorded:
            tell(
                f"the capture is of another board: its {what} is {recorded}, this one's is {here}; "
                "the predicted settings are tried, and confirmed like all others"
            )


def changed_files(files: Iterable[FileEntry]) -> list[str]:
    """Return the recorded files that this machine has no more, or with another size."""
    changed = []
    for file in files:
        if file.path is None or file.size_bytes < 0 or file.link:
            continue
        try:
            same = os.lstat(file.path).st_size == file.size_bytes
        except OSError:
            same = False
        if not same:
            changed.append(file.path)
    return changed


def check_genes(earlier: Earlier, space: Space, tell: Callable[[str], None]) -> None:
    """Say which genes only one of both campaigns tunes; raise ArgumentError if they share none."""
    tuned = {gene.name for gene in earlier.genes}
    unknown = [name for name in space.names if name not in tuned]
    if len(unknown) == len(space.names):
        raise ArgumentError(
            f"the earlier campaign tuned other settings: {', '.join(sorted(tuned))}",
            "repeat the command line without --from, or choose those with --genes",
        )
    if unknown:
        tell(f"the earlier campaign did not tune {', '.join(unknown)}: it expects nothing of them")
    if lost := sorted(tuned - set(space.names)):
        tell(f"not tuned here, unlike in the earlier campaign: {', '.join(lost)}")


def _differences(path: Path, options: TuneOptions, results: Results) -> list[str]:
    """Return in what the earlier campaign differs from the one that is asked for, in sentences."""
    spec = results.spec
    differing: Mapping[str, tuple[object, object]] = {
        "command": (shlex.join(spec.command), shlex.join(options.run.command)),
        "scenarios": (", ".join(spec.scenarios), ", ".join(options.scenarios)),
        "weights": (weights_text(weights_of(spec)) or "equal", weights_in_words(options)),
    }
    notes = [
        f"{path} has another {what} ({was}): its results are trusted as far as they prove true here"
        for what, (was, now) in differing.items()
        if was != now
    ]
    if results.ended is None:
        notes.append(f"{path} has not ended: its runs so far are used")
    return notes
