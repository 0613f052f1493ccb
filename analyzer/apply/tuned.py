"""The plan of a boot script from a tuning: the genes that matter, each with its effect."""

from __future__ import annotations

import shlex

from foreread.analyzer.apply.plan import (
    DEFAULT_ATTEMPTS,
    STATE_DIR,
    ApplyError,
    ApplyPlan,
    Board,
    Disk,
    Prefetch,
    Setting,
    check,
    release_series,
)
from foreread.analyzer.tuner.findings.compare import Change
from foreread.analyzer.tuner.findings.confirm import Gain
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.genes import Space
from foreread.analyzer.tuner.space.losses import loss_of
from foreread.analyzer.tuner.store.records import Hardware
from foreread.boards.knobs import BLOCK


def plan_of_tuning(
    results: Results,
    *,
    boot_done_seconds: int | None = None,
    restore_on_stop: bool = True,
    prefetch: Prefetch | None = None,
    attempts: int = DEFAULT_ATTEMPTS,
    state_dir: str = STATE_DIR,
    risked: bool = False,
) -> ApplyPlan:
    """Return the plan that sets the genes confirmed to matter, a scheduler before its tunables.

    ``risked``: also values with which a power cut loses more than with those found or the kernel's.
    Raises ApplyError for such values otherwise, and when there are no genes, when they were not
    confirmed, or are of several workloads.
    """
    if results.takes_turns:
        raise ApplyError(
            "it has different settings for several workloads",
            "write a script that applies them by workload: foreread fingerprint --apply TUNING "
            "-o FILE",
        )
    confirmed, spec = results.confirmed, results.spec
    if confirmed.to_run:
        raise ApplyError(
            "the tuning is not confirmed yet",
            "repeat the command line of foreread tune with --resume",
        )
    if not confirmed.gains:
        raise ApplyError("no setting is shown to be faster", "keep the board's settings")
    losses = _losses(results, confirmed.gains)
    if losses and not risked:
        raise ApplyError(losses[0], "to set it anyway, repeat the command with --allow durability")
    plan = ApplyPlan(
        settings=tuple(
            setting
            for gain in _in_order(results.space, confirmed.gains)
            for setting in _settings(results, gain)
        ),
        losses=losses,
        board=Board(
            spec.board.hardware.machine,
            release_series(spec.board.kernel),
            spec.board.hardware.model,
        ),
        created_from=f"tuning of {shlex.join(spec.command)} by {spec.sampler}: "
        f"{_together(results)}; kernel {spec.board.kernel}",
        boot_done_seconds=boot_done_seconds,
        restore_on_stop=restore_on_stop,
        prefetch=prefetch,
        attempts=attempts,
        state_dir=state_dir,
    )
    check(plan)
    return plan


def _together(results: Results) -> str:
    """Return what the settings change together, in which scenarios."""
    confirmed, scenarios = results.confirmed, ", ".join(results.spec.scenarios)
    text = f"together {_effect(confirmed.over_default)} than at the defaults"
    if confirmed.answer == "tuned" and confirmed.over_predicted is not None:
        text += f", {_effect(confirmed.over_predicted)} than with the predicted window alone"
    return f"{text} (scenarios: {scenarios})"


def _losses(results: Results, gains: tuple[Gain, ...]) -> tuple[str, ...]:
    """Return what a power cut may lose by the genes that are set."""
    knobs = {gene.name: (gene.knob, *gene.more_knobs) for gene in results.space.genes}
    losses = [
        loss_of(knob, str(gain.allele), gain.default) for gain in gains for knob in knobs[gain.gene]
    ]
    return tuple(dict.fromkeys(loss.sentence for loss in losses if loss is not None))


def _in_order(space: Space, gains: tuple[Gain, ...]) -> list[Gain]:
    return sorted(gains, key=lambda gain: space.names.index(gain.gene))


def _settings(results: Results, gain: Gain) -> list[Setting]:
    gene = next(gene for gene in results.space.genes if gene.name == gain.gene)
    reason = f"measured: {_effect(gain.change)} than at {gain.default}, the default"
    if not gain.alone:
        reason = f"measured: {_effect(results.confirmed.together)} than without the settings that "
        reason += "save only together; this is one of them"
    board = results.spec.board
    reason = "; ".join([reason, *_losses(results, (gain,))])
    return [
        _setting(path, str(gain.allele), reason, board.hardware)
        for path in gene.knob_paths(board.disks)
    ]


def _setting(path: str, value: str, reason: str, hardware: Hardware) -> Setting:
    if not path.startswith(BLOCK):
        return Setting(path, value, reason)
    name, _, knob = path.removeprefix(BLOCK).partition("/")
    known = {disk.name: Disk(disk.name, disk.size_bytes, disk.model) for disk in hardware.disks}
    return Setting(knob, value, reason, known.get(name, Disk(name)))


def _effect(change: Change | None) -> str:
    """Return a change in words, in ASCII: "5.8 % (3.3 to 8.2) less"."""
    if change is None:
        return "no other"
    less = change.effect < 0
    sign = -100 if less else 100
    text = f"{sign * change.effect:.1f} %"
    if change.low is not None and change.high is not None:
        ends = sorted((sign * change.low, sign * change.high))
        text += f" ({ends[0]:.1f} to {ends[1]:.1f})"
    return f"{text} {'less' if less else 'more'}"
