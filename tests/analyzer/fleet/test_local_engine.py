"""Which processors the workers of this machine run on."""

import os
import threading

from foreread.analyzer.fleet import engines
from foreread.analyzer.fleet.batch import Batch
from foreread.analyzer.fleet.engines import LocalEngine
from foreread.analyzer.fleet.question import FleetQuestion

BATCH = Batch((), FleetQuestion("1.0"))
PROCESSORS = os.sched_getaffinity(0)


def processors_of(workers, monkeypatch):
    """Return the processors that each of the workers, all at work at once, may use."""
    together = threading.Barrier(workers)

    def worked(*_):
        together.wait()
        return os.sched_getaffinity(0)

    monkeypatch.setattr(engines, "run_batch", worked)
    engine = LocalEngine(workers)
    found = [one.done for one in engine.outcomes(iter([BATCH] * workers))]
    engine.close()
    return found


def test_each_of_as_many_workers_as_processors_has_one(monkeypatch):
    found = processors_of(len(PROCESSORS), monkeypatch)
    assert sorted(map(sorted, found)) == [[one] for one in sorted(PROCESSORS)]
    assert os.sched_getaffinity(0) == PROCESSORS  # the caller's own processors are as before


def test_the_kernel_places_workers_of_another_number(monkeypatch):
    number = len(PROCESSORS) + 1
    assert processors_of(number, monkeypatch) == [PROCESSORS] * number
