"""The requests that the probe sends: few normally, more if the kernel limits the disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from foreread.tracer.formats.disk_probe import ProbeTrial
from foreread.tracer.local.disk.reader import Pattern

Run = Callable[[Pattern, float], ProbeTrial | None]

_SLICE_S = 0.1  # of the kernel's limiter
_DEEP = 4
_LOOK_S = 1.2 * _SLICE_S  # shows whether the budget of one slice is used up
_LIMITED_S = 5.7 * _SLICE_S  # five slices: a rate within 1 %
_FEW = 60  # requests in a trial: with few per slice, the fraction of one matters
_EACH_S = 0.04
_STALL_NS = 8e6  # no unlimited disk takes longer, except a slow one always
_STALL_SHARE = 0.3
_FEW_BYTES = 2e6  # a second: large requests would take too long each
_HARDLY_ANY_BYTES = 3e5  # a second: 64 KiB are not read in one slice
_SECONDS = 2.5  # no further trial begins after that

_FORGOTTEN_S = 2.5 * _SLICE_S  # after a pause of this length the limiter begins anew

_SMALL, _MIDDLE, _LARGE = 4, 16, 256  # KiB
_LOOKS = (Pattern(_SMALL, False, 1), Pattern(_SMALL, False, _DEEP), Pattern(_LARGE, False, _DEEP))
# One and several in flight, random and sequential; questions that the first two answer are not
# repeated.
_TABLE = (
    Pattern(16, False, 1),
    Pattern(64, False, 1),
    Pattern(256, False, 1),
    Pattern(1024, False, 1),
    Pattern(4, True, 1),
    Pattern(64, True, 1),
    Pattern(16, False, _DEEP),
    Pattern(64, False, _DEEP),
    Pattern(64, True, _DEEP),
    Pattern(1024, False, 2),
)


def probe(run: Run, pause: Callable[[float], object] = time.sleep) -> list[ProbeTrial]:
    """Run the trials and return them; ``run`` makes one of so many seconds, None if it cannot."""
    trials: list[ProbeTrial] = []
    slow = False
    for pattern in _LOOKS:
        look = run(replace(pattern, kib=min(pattern.kib, _MIDDLE)) if slow else pattern, _LOOK_S)
        if look is None:
            continue
        trials.append(look)
        if stalls(look):
            return [*trials, *_with_a_limiter(run, pause, trials)]
        slow = max(map(_bytes_per_second, trials)) < _FEW_BYTES
    if not trials:
        return []
    for pattern in _TABLE:
        if _passed_s(trials) > _SECONDS or (slow and pattern.kib > _LARGE):
            break
        trial = run(pattern, _EACH_S)
        trials += [trial] if trial else []
    return trials


def _with_a_limiter(
    run: Run, pause: Callable[[float], object], seen: list[ProbeTrial]
) -> list[ProbeTrial]:
    """Return trials that hit one limit each: requests a second, then bytes a second.

    A pause before each makes the limiter forget the part of the other limit that the last trial
    left unused. One request at a time is enough if it stalls: the earlier requests show the disk
    itself.
    """
    depth = 1 if stalls(seen[0]) else _DEEP
    crawls = _bytes_per_second(seen[0]) < _HARDLY_ANY_BYTES
    trials: list[ProbeTrial] = []
    for kib in (_SMALL, _MIDDLE if crawls else 64, _LARGE):
        pause(_FORGOTTEN_S)
        trial = _held(run, Pattern(kib, False, depth))
        if trial is None:
            break
        if trials and len(trial.complete_ns) < _FEW and kib > _MIDDLE:
            trial = _smaller(run, pause, trials[0], trial)
        trials.append(trial)
        if len(trials) > 1 and _held_by_bytes(trials[0], trial):
            break
    return trials


def _smaller(
    run: Run, pause: Callable[[float], object], small: ProbeTrial, large: ProbeTrial
) -> ProbeTrial:
    """Return a trial of more and smaller requests, if it hits the same limit."""
    pause(_FORGOTTEN_S)
    middle = _held(run, Pattern(_MIDDLE, False, large.depth))
    return middle if middle is not None and _held_by_bytes(small, middle) else large


def _held(run: Run, pattern: Pattern) -> ProbeTrial | None:
    """Return a trial that stalls, trying twice: a busy machine may hide a stall once."""
    first = run(pattern, _LIMITED_S)
    if first is None or stalls(first):
        return first
    return run(pattern, _LIMITED_S)


def _held_by_bytes(small: ProbeTrial, large: ProbeTrial) -> bool:
    """Return whether fewer of the larger requests completed a second than of the small ones."""
    return _per_second(large) < 0.8 * _per_second(small)


def stalls(trial: ProbeTrial) -> bool:
    """Return whether the disk paused for much of a trial, between requests that were faster."""
    done = trial.complete_ns
    gaps = sorted(b - a for a, b in zip([min(trial.issue_ns), *done], done, strict=False))
    usual = gaps[len(gaps) // 4]
    held = sum(gap for gap in gaps if gap > max(_STALL_NS, 4 * usual))
    return held > _STALL_SHARE * sum(gaps)


def is_held(trials: list[ProbeTrial]) -> bool:
    """Return whether a limiter delayed any of the trials."""
    return any(stalls(trial) for trial in trials)


def _per_second(trial: ProbeTrial) -> float:
    took = trial.complete_ns[-1] - min(trial.issue_ns)
    return len(trial.complete_ns) * 1e9 / max(took, 1)


def _bytes_per_second(trial: ProbeTrial) -> float:
    return _per_second(trial) * trial.request_bytes


def _passed_s(trials: list[ProbeTrial]) -> float:
    return (trials[-1].complete_ns[-1] - min(trials[0].issue_ns)) / 1e9
