"""A start with so much memory: what is left for its files, what it reads again, what it needs."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from foreread.analyzer.apply import script
from foreread.analyzer.ingest.load import load
from foreread.analyzer.load.error import LoadError
from foreread.analyzer.load.named import predict_beside
from foreread.analyzer.load.replayed import unpredicted, with_load
from foreread.analyzer.load.scenarios import load_of_scenario
from foreread.analyzer.predict.doubts.start import _short_of_memory
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.linux import predict_linux
from foreread.analyzer.predict.memory import least_kib, needed_kib, own_pages, with_memory
from foreread.analyzer.predict.seconds import Seconds
from foreread.analyzer.predict.start import prepare
from foreread.emulator.linux.rules import version_of
from foreread.tracer.formats.memory import Memory, MemoryGroup, Swap

CAPTURE = Path(__file__).parents[3] / "examples/php-start/php-start.capture.tar.xz"
OWN = [(0, 100), (400, 3000), (10_000, 5000)]  # ms, KiB


@pytest.fixture(scope="module")
def prediction():
    return predict_linux(load(CAPTURE))


@pytest.fixture(scope="module")
def start(prediction):
    return prediction.starts[0]


def noting(start, memory):
    """Return a start whose capture notes its memory."""
    recording = start.recording
    capture = msgspec.structs.replace(recording.capture, memory=memory)
    taken = replace(start.inputs, recording=replace(recording, capture=capture))
    return replace(start, inputs=taken)


def pages(start, window):
    (run,) = start.timed([window])
    return int(run.work[:, 1].sum())


def test_with_less_memory_more_is_read_and_it_takes_longer(start):
    runs = [with_memory(start, mib << 10).timed([256])[0] for mib in (64, 8, 6, 5)]
    read = [int(run.work[:, 1].sum()) for run in runs]
    assert read == sorted(read) and read[0] < read[-1]
    assert runs[0].total_ns == start.timed([256])[0].total_ns < runs[-1].total_ns


def test_the_program_takes_what_the_capture_notes_of_it(start):
    noted = noting(start, Memory(available_kib=1 << 20, own=OWN))
    more = own_pages(noted).astype(int) - own_pages(start).astype(int)
    assert (np.diff(more) >= -1).all()  # rounded down to pages
    assert 0 < more[-1] <= 5000 // 4
    assert pages(with_memory(noted, 6 << 10), 256) > pages(with_memory(start, 6 << 10), 256)


def test_the_least_memory_is_that_with_which_nothing_is_read_twice(start):
    idle = pages(start, 256)
    least = least_kib(start, 256)
    assert pages(with_memory(start, least), 256) == idle
    assert pages(with_memory(start, least * 9 // 10), 256) > idle
    assert least <= needed_kib(start, idle) + 1024


def test_rows_have_the_pages_that_are_read(prediction):
    found = predict_beside(prediction, ["memory:64M", "memory:6M"])
    idle, much, little = found.loads.rows
    assert (much.memory_kib, little.memory_kib) == (64 << 10, 6 << 10)
    assert much.seconds == idle.seconds and much.pages == idle.pages
    assert all(more >= own for more, own in zip(little.pages, idle.pages, strict=True))
    assert little.pages[-1] > idle.pages[-1]
    assert little.seconds_high[-1] - little.seconds[-1] > idle.seconds_high[-1] - idle.seconds[-1]
    assert found.loads.words == ["--load", "memory:64M", "--load", "memory:6M"]
    assert found.loads.need.own_kib is None
    assert found.loads.need.files_kib == [4 * pages for pages in idle.pages]
    basis = " ".join(found.notes)
    assert "does not say how much memory the program itself takes" in basis


@pytest.mark.parametrize("text", ["memory:x", "memory:8T", "memory:-1M", "memory:8 M", "memory:M"])
def test_other_sizes_are_refused(text, start):
    with pytest.raises(LoadError, match="is not a load") as caught:
        load_of_scenario(text, start)
    assert caught.value.remedy == "write memory:24M"


def test_a_program_that_does_not_fit_is_not_predicted(start):
    noted = noting(start, Memory(available_kib=1 << 20, own=[(10, 30 << 10)]))
    little = load_of_scenario("memory:24M", noted)
    assert "take 3" in unpredicted(noted, little) and "MiB" in little.unpredicted
    with pytest.raises(LoadError, match="too little is left"):
        with_load(noted, little)
    assert not load_of_scenario("memory:64M", noted).unpredicted
    assert load_of_scenario("memory:24M").memory_kib == 24 << 10


SWAP = [Swap(kind="file", size_kib=1 << 15)]


@pytest.mark.parametrize(
    ("swaps", "group", "noted"),
    [
        ([], None, 0),
        (SWAP, None, 1),
        (SWAP, MemoryGroup(path="/a", version=1), 1),
        (SWAP, MemoryGroup(path="/a", version=1, swap_kib=0), 0),
    ],
)
def test_swap_is_noted_where_the_start_could_use_it(swaps, group, noted, start):
    memory = Memory(available_kib=1 << 20, own=OWN, swaps=swaps, group=group)
    notes = load_of_scenario("memory:24M", noting(start, memory)).notes
    assert [note.endswith("switch it off: swapoff -a") for note in notes] == [True] * noted


def test_the_lists_of_the_recorded_machine_are_emulated():
    recording = load(CAPTURE)
    version = version_of(recording.kernel)
    read = []
    for generations in (None, False, True):
        memory = Memory(available_kib=1 << 20, multi_gen_lru=generations)
        capture = msgspec.structs.replace(recording.capture, memory=memory)
        start = prepare(inputs(replace(recording, capture=capture), version), version)
        read.append(pages(with_memory(start, 5 << 10), 256))
    assert read[0] == read[1] != read[2]


@pytest.mark.parametrize("group", [None, MemoryGroup(path="/a", version=2, limit_kib=6 << 10)])
def test_a_machine_that_lacked_memory_for_the_window_is_doubted(prediction, start, group):
    available = 1 << 20 if group else 6 << 10
    noted = noting(start, Memory(available_kib=available, own=OWN, group=group))
    bands = prediction.bands
    replays = [noted.timed(bands.windows)]
    (doubt,) = _short_of_memory(Seconds((noted,), replays, bands, None, ()))
    assert "6 MiB are available" in doubt.text
    assert doubt.text.endswith("predict with --memory 6M")
    enough = noting(start, Memory(available_kib=1 << 20, own=OWN))
    assert not list(_short_of_memory(Seconds((enough,), replays, bands, None, ())))


def test_the_boot_script_warns_where_the_recorded_machine_lacks_memory(prediction, start, tmp_path):
    lacking = noting(start, Memory(available_kib=6 << 10, own=OWN))
    sentences = []
    script(
        replace(prediction, starts=(lacking,)), tmp_path, read_ahead_kb=1024, tell=sentences.append
    )
    (warning,) = sentences
    assert warning.startswith("warning: with a window of 1,024 KiB the start needs")
    assert warning.endswith("--load memory:6M")
