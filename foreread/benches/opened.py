"""A machine whose trials can be made, opened by the name of its target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from foreread.boards.open import open_target
from foreread.tracer.formats.capture import Metadata
from foreread.tracer.machines import bench_on
from foreread.tracer.trials.trial import TrialBench, TrialOptions

OpenBench = Callable[..., AbstractContextManager[TrialBench]]  # as ``open_bench``


@contextmanager
def open_bench(
    target: str,
    identity: Path | None,
    trials: TrialOptions,
    tell: Callable[[str], None],
    capture: Metadata | None = None,
) -> Iterator[TrialBench]:
    """Yield the bench of a target; ``capture``: the recorded start that its trials repeat."""
    with (
        open_target(target, identity=identity, tell=tell) as machine,
        bench_on(machine, trials, capture) as bench,
    ):
        yield bench
