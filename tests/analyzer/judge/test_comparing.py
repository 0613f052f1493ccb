"""Where a kernel first reads otherwise than the emulation."""

import numpy as np
import pytest

from foreread.analyzer.judge.comparing import compare_requests, first_difference, pages
from foreread.analyzer.judge.expected import Emulated
from foreread.analyzer.judge.task import Task
from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.requests import EXTENT, Layout, Limits
from foreread.emulator.linux.rules import rules_for

WINDOW = 4
LIMITS = Limits(1280)


def made(window=WINDOW, rules=(6, 12)):
    """Four reads of one page each in order, and what is read for them."""
    task = Task("four reads", 40 * 4096, 4096)
    handle = task.open()
    for page in range(4):
        task.read(handle, page * 4096, 4096)
    return task, Emulated([task], rules_for(rules), Machine(), False).at(window)[0]


def test_the_same_pages_in_the_same_order_are_no_difference():
    task, expected = made()
    assert first_difference(task, expected, expected.folios, WINDOW, True) is None


@pytest.mark.parametrize("row", range(5))
def test_the_first_other_page_is_named_with_its_operation(row):
    task, expected = made()
    seen = list(expected.folios)
    seen[row] = (39, 0)
    found = first_difference(task, expected, seen, WINDOW, True)
    assert (found.step, found.window) == (expected.steps[row], WINDOW)
    assert found.seen.startswith("page 39")
    assert found.expected.startswith(("page ", "pages "))


def test_a_kernel_that_reads_less_or_more():
    task, expected = made()
    less = first_difference(task, expected, expected.folios[:-2], WINDOW, True)
    assert less.step == expected.steps[-2]
    assert less.seen == "no page"
    more = first_difference(task, expected, [*expected.folios, (30, 0)], WINDOW, True)
    assert (more.step, more.expected, more.seen) == (4, "no page", "page 30")


def test_sizes_of_folios_count_unless_the_kernel_does_not_show_them():
    task, expected = made()
    seen = [(page, 2 if page == 0 else 0) for page, _ in expected.folios]
    found = first_difference(task, expected, seen, WINDOW, True)
    assert found.seen.startswith("pages 0–3 in folios of 4")
    assert first_difference(task, expected, seen, WINDOW, False) is None


@pytest.mark.parametrize(
    ("folios", "said"),
    [
        ([], "no page"),
        ([(7, 0)], "page 7"),
        ([(3, 0), (4, 0), (5, 0), (9, 0)], "pages 3–5, page 9"),
        ([(0, 2), (4, 2), (8, 0)], "pages 0–7 in folios of 4, page 8"),
        ([(n, 0) for n in range(0, 40, 2)], "page 0, page 2, page 4, page 6, page 8, page 10, …"),
    ],
)
def test_pages_are_said_as_ranges(folios, said):
    assert pages(folios) == said


def layout():
    return Layout(np.array([(0, 0, 1000, 320, 1)], EXTENT))


def requested(seen, limits=LIMITS, window=WINDOW):
    _, expected = made(window)
    return compare_requests(expected, layout(), limits, 4096, seen)


def test_requests_are_those_of_the_emulation():
    _, expected = made()
    assert expected.folios == [(page, 0) for page in range(10)]
    found = requested([(1000, 16), (1016, 32), (1048, 32)])
    assert (found.expected, found.merged, found.difference) == (3, 0, None)


def test_requests_that_the_queue_merged_are_counted():
    found = requested([(1000, 16), (1016, 64)])
    assert (found.expected, found.merged, found.difference) == (3, 1, None)


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ([(1000, 16), (1016, 16), (1032, 16), (1048, 32)], "8 KiB at sector 1016"),
        ([(1000, 16), (1016, 32)], "do not cover"),
        ([], "0 requests"),
        ([(1000, 16), (1016, 64), (1080, 32)], "16 KiB at sector 1080"),
    ],
)
def test_other_requests_are_a_difference(seen, said):
    assert said in requested(seen).difference


def test_requests_that_may_have_too_many_segments_are_not_compared():
    assert requested([(1000, 80)], Limits(1280, max_segments=3)) is None
