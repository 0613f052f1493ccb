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
def open_at_place(name, _identity, trials, tell, capture=None):
    known_hosts, identity = json.loads(os.environ["FLEET_BOARDS"])[name]
    opened = open_target(name, Path(known_hosts), Path(identity), tell)
    with opened as target, bench_on(target, trials, capture) as bench:
        yield bench
