"""Benches at places of a lab whose boards are emulated, for the processes of a fleet.

FLEET_BOARDS has, by place, the files of known hosts and of the key, as JSON.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path

from foreread.boards.open import open_target
from foreread.tracer.machines import bench_on


@contextmanager
def open_at_place(asked, trials, tell):
    with _opened(asked.target, tell) as target, bench_on(target, trials) as bench:
        yield bench


@contextmanager
def open_pairs_at_place(name, of, tell):
    with _opened(name, tell) as target, bench_on(target, of.trials, of.capture) as bench:
        yield bench


def _opened(name, tell):
    known_hosts, identity = json.loads(os.environ["FLEET_BOARDS"])[name]
    return open_target(name, Path(known_hosts), Path(identity), tell)
