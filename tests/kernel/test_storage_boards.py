"""All seven file systems on an emulated board, whose kernel has nilfs2 and reiserfs too.

Figures are printed (``make test-all`` keeps them in its logs).
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from waiting import left_s

from studies.tuning.storage_chromosomes import (
    configurations,
    defaults,
    is_valid,
    make_words,
    mount_words,
)
from studies.tuning.storage_places import board_place
from studies.tuning.storage_rules import FILE_SYSTEMS, today
from studies.tuning.storage_trial import FileSystem, StorageBench

pytestmark = pytest.mark.boards

FOLDER = Path(__file__).parents[2] / "studies/tuning"
RULES = today(384 << 20)
JOB = (FOLDER / "jobs/mailserver.fio").read_text()
HELD = """
mkfs.$1 -q -f ${4:+-f} $2 /dev/slow1 </dev/null >/dev/null 2>&1 || exit 1
mkdir -p /media && mount -i -t $1 -o $3 /dev/slow1 /media && umount /media
"""


@pytest.fixture(scope="module")
def place():
    with board_place(lambda _step: None) as booted:
        yield booted


def default_of(file_system):
    return next(one for one in defaults(RULES) if one["file_system"] == file_system)


def words_of(chromosome):
    kind = str(chromosome["file_system"])
    return FileSystem(kind, make_words(chromosome), mount_words(chromosome))


def test_the_board_has_them_all(place):
    assert place.rules() == RULES
    assert set(RULES) == set(FILE_SYSTEMS)


@pytest.mark.parametrize("file_system", FILE_SYSTEMS)
def test_each_is_made_mounted_and_measured(place, file_system, capsys):
    (device,) = place.devices.values()
    bench = StorageBench(place.target, device, JOB, seconds=0.5, limit_s=900)
    measured = bench.run(words_of(default_of(file_system)))
    assert (measured.status, measured.note) == ("ok", "")
    assert measured.operations > 0
    with capsys.disabled():
        print(f"\n  {file_system}: {measured.operations_per_s:.0f} operations a second", end="")


@pytest.mark.parametrize("file_system", ["nilfs2", "reiserfs"])
def test_rules_for_settings_that_this_machine_lacks(place, file_system):
    """Sampled, since each takes seconds; those of the others: test_storage.py."""
    rng = random.Random(3)
    every = [one for one in configurations(RULES) if one["file_system"] == file_system]
    for chromosome in rng.sample(every, 5):
        assert held(place, chromosome), chromosome
    default = default_of(file_system)
    wrong = [
        {"block_size": 8192},
        {"journal": "strict" if file_system == "reiserfs" else "ordered"},
        {"special": "compress"},
    ]
    for change in wrong:
        chromosome = {**default, **change}
        assert not is_valid(chromosome, RULES)
        assert not held(place, chromosome), chromosome


def held(place, chromosome):
    """Return whether the board makes and mounts it."""
    kind = str(chromosome["file_system"])
    words = [kind, " ".join(make_words(chromosome)), ",".join(mount_words(chromosome))]
    words += ["twice"] if kind == "reiserfs" else []
    return place.target.run(["sh", "-c", HELD, "sh", *words], timeout_s=left_s()).status == 0
