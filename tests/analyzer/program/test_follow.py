"""The C core that follows threads gives what the readable version does, and refuses the rest."""

from dataclasses import replace

import numpy as np
import pytest
from event_table import event
from evidence_strategy import BASE, PAGE, evidences
from hypothesis import given, settings
from hypothesis import strategies as st
from property_tests import examples
from replayed import brought, entry, fault, pages

from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.program import _follow
from foreread.analyzer.program.build import FollowError, follow
from foreread.analyzer.program.evidence import INSERTED, PIECE, Evidence, Shown
from foreread.analyzer.program.timeline import MOMENT, What
from foreread.analyzer.reference.follow import follow_slowly
from foreread.emulator.linux.operations import Op
from foreread.tracer.formats.capture import NO_METADATA

ALL = Shown(7)


def agree(evidence):
    fast, slow = follow(evidence), follow_slowly(evidence)
    for name in ("operations", "times", "mappings", "handles"):
        ours, theirs = getattr(fast, name), getattr(slow, name)
        assert ours.dtype == theirs.dtype
        assert ours.tolist() == theirs.tolist(), name
    assert fast.holes == slow.holes
    assert fast.assumed == slow.assumed
    return fast


@settings(max_examples=examples(300))
@given(evidences())
def test_c_and_python_agree(evidence):
    agree(evidence)


@settings(max_examples=examples(50))
@given(evidences(most=400))
def test_they_agree_on_long_runs(evidence):
    agree(evidence)


@given(st.data())
def test_they_agree_on_many_mappings_of_few_files(data):
    """Random mappings over and beside each other, faults between them, and advice over many."""
    number = data.draw(st.integers(1, 80))
    address = st.integers(0, 60)
    rows = [
        (1, What.OPEN, (0,)),
        (1, What.OPENED, (3,)),
        (1, What.OPEN, (0,)),
        (1, What.OPENED, (4,)),
    ]
    for _ in range(number):
        at, length, start = data.draw(st.tuples(address, st.integers(1, 9), st.integers(0, 20)))
        kind = data.draw(st.integers(0, 6))
        where = (BASE + at * PAGE, length * PAGE)
        if kind < 3:
            fd = data.draw(st.integers(3, 4))
            rows += [
                (1, What.MMAP, (where[1], 1, 2, fd, start * PAGE)),
                (1, What.MAPPED, where[:1]),
            ]
        elif kind == 3:
            rows.append((1, What.FAULT, (start % 2, start)))
        elif kind == 4:
            rows.append((1, What.MUNMAP, where))
        else:
            rows.append((1, What.MADVISE, (*where, data.draw(st.sampled_from([1, 2, 3])))))
    rows += [(1, What.FORK, (2,)), (2, What.FAULT, (0, 3)), (1, What.FAULT, (1, 3))]
    evidence = some(*rows)
    assert len(agree(evidence).operations) > 0


def some(*rows, files=2, shown=ALL, **more):
    """Evidence of (pid, what, values) and of files of 100 pages."""
    moments = np.zeros(len(rows), MOMENT)
    for row, (pid, what, values) in enumerate(rows):
        moments[row] = (1000 * (row + 1), [*values, *[0] * (5 - len(values))], pid, what)
    given = {
        "inserted": np.zeros(0, INSERTED),
        "segments": np.zeros(0, PIECE),
        "cached": np.zeros(0, PIECE),
        "sizes": np.full(files, 100 * PAGE, np.int64),
        "flags": np.zeros(files, np.uint8),
        "page_size": PAGE,
        "shown": shown,
    }
    return Evidence(moments, **{**given, **more})


def test_a_growing_file_mapped_whole_again_and_again_is_not_searched_again_and_again():
    """Faults further and further on in a file of unknown size: each needs a mapping of its own."""
    faults = [(1, What.FAULT, (0, page)) for page in range(40_000)]
    found = follow(some(*faults, sizes=np.full(2, -1, np.int64)))
    assert len(found.mappings) == 40_000


def test_many_mappings_in_no_order():
    rng = np.random.default_rng(1)
    order = rng.permutation(20_000)
    rows = [(1, What.OPEN, (0,)), (1, What.OPENED, (3,))]
    for place in order.tolist():
        rows += [
            (1, What.MMAP, (PAGE, 1, 2, 3, place * PAGE)),
            (1, What.MAPPED, (BASE + 2 * place * PAGE,)),
        ]
    rows += [(1, What.FAULT, (0, place)) for place in rng.permutation(20_000).tolist()]
    found = follow(some(*rows, sizes=np.full(2, 20_000 * PAGE, np.int64)))
    assert len(found.mappings) == 20_000
    assert (found.mappings["start"] == found.operations["at"][-20_000:]).all()


@pytest.mark.thorough
def test_more_mappings_than_a_run_of_that_length_can_have_are_refused():
    """A process with many mappings forks again and again: copies of copies."""
    rows = [(1, What.OPEN, (0,)), (1, What.OPENED, (3,))]
    for place in range(3000):
        rows += [
            (1, What.MMAP, (PAGE, 1, 2, 3, place * PAGE)),
            (1, What.MAPPED, (BASE + 2 * place * PAGE,)),
        ]
    for child in range(2, 1000):
        rows += [(1, What.CLONED, (child, 0)), (1, What.FORK, (child,))]
    with pytest.raises(FollowError, match="more pages or mappings"):
        follow(some(*rows))


@pytest.mark.thorough
def test_more_pages_than_a_run_of_that_length_can_name_are_refused():
    rows = [(1, What.GET_PAGES, (0, at << 20, (at << 20) + (1 << 20))) for at in range(200)]
    with pytest.raises(FollowError, match="more pages or mappings") as error:
        follow(some(*rows, sizes=np.full(2, 1 << 61, np.int64)))
    assert error.value.remedy


@pytest.mark.parametrize(
    "wrong",
    [
        {"what": 2},
        {"what": 99},
        {"what": 127},
        {"what": What.FAULT, "values": (2, 0)},
        {"what": What.FAULT, "values": (-2, 0)},
        {"what": What.INSERT, "values": (0, -1)},
        {"what": What.INSERT, "values": (0, 1 << 60)},
    ],
)
def test_moments_out_of_range_are_refused(wrong):
    evidence = some((1, wrong["what"], wrong.get("values", ())))
    with pytest.raises(FollowError, match="out of range"):
        follow(evidence)


@pytest.mark.parametrize(
    "wrong",
    [
        {"inserted": np.array([(0, 2, 0, 0, 0)], INSERTED)},
        {"inserted": np.array([(0, 0, 0, 0, 5)], INSERTED)},
        {"inserted": np.array([(0, 0, 0, 0, -2)], INSERTED)},
        {"segments": np.array([(0, 1, 2, 0)], PIECE)},
        {"segments": np.array([(1, 1, 0, 0)], PIECE)},
        {"segments": np.array([(0, 1 << 60, 0, 0)], PIECE)},
        {"segments": np.array([(0, 1, 1, 0), (0, 1, 0, 0)], PIECE)},
        {"cached": np.array([(0, (1 << 20) + 1, 0, 0)], PIECE)},
        {"page_size": 0},
        {"page_size": 511},
        {"page_size": -4096},
        {"page_size": (1 << 20) + 1},
    ],
)
def test_tables_out_of_range_are_refused(wrong):
    with pytest.raises(FollowError, match="out of range"):
        follow(some((1, What.FAULT, (0, 1)), **wrong))


ARRAYS = ("moments", "inserted", "segments", "cached", "sizes", "flags")


def bound(evidence):
    return [getattr(evidence, name) for name in ARRAYS]


@pytest.mark.parametrize("at", range(len(ARRAYS)))
@pytest.mark.parametrize(
    "spoil",
    [
        lambda array: np.zeros(len(array), "f4"),
        lambda array: array.reshape(1, -1),
        lambda array: np.repeat(array, 3)[::3],
        lambda array: array.tolist(),
    ],
)
def test_arrays_of_another_kind_are_refused_at_the_border(at, spoil):
    evidence = some((1, What.FAULT, (0, 1)), (1, What.FAULT, (0, 2)))
    more = {"inserted": (0, 0, 0, 0, 0), "segments": (0, 1, 0, 0), "cached": (0, 1, 0, 0)}
    for name, row in more.items():
        evidence = replace(evidence, **{name: np.array([row] * 2, getattr(evidence, name).dtype)})
    arrays = bound(evidence)
    _follow.follow(*arrays, PAGE, 7)
    arrays[at] = spoil(arrays[at])
    with pytest.raises((TypeError, ValueError, BufferError)):
        _follow.follow(*arrays, PAGE, 7)


def test_arrays_of_files_of_different_lengths_are_refused():
    evidence = some((1, What.FAULT, (0, 1)), flags=np.zeros(3, np.uint8))
    with pytest.raises(ValueError, match="differ in length"):
        _follow.follow(*bound(evidence), PAGE, 7)


def test_every_error_has_a_message_and_a_remedy():
    texts = _follow.error_texts()
    assert len(texts) == 3
    assert all(message and remedy for message, remedy in texts)
    assert len(set(texts)) == len(texts)


def test_recordings_of_other_tests_agree_too():
    from event_table import table

    from foreread.analyzer.ingest.interpret import interpret
    from foreread.analyzer.ingest.recording import Trace
    from foreread.analyzer.program.evidence import evidence

    events = [fault(1, 1), *brought(1, 1), event(Kind.MAP_PAGES, ino=1, index=0, value=15)]
    events += [*brought(2, 0), pages(2, 0, 0), *brought(1, 7), event(Kind.FORK, value=2)]
    events += [fault(1, 30, pid=2), *brought(1, 30, pid=2), event(Kind.EXEC, pid=2, value=2)]
    recording = interpret(Trace("test", table(*events)), NO_METADATA, [entry(1), entry(2)], "all")
    found = agree(evidence(recording, recording.files["size_bytes"]))
    assert found.operations["op"].tolist().count(Op.FAULT) == 2
