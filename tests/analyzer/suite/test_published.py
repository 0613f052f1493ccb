"""F² + G² of several starts, against the definition on the joined accesses."""

from capture_builder import PAGE, recording_of

from foreread.analyzer.predict.window import predict
from foreread.analyzer.suite.published import summed

FIRST = [(0, page) for page in (0, 1, 2, 9, 10, 30)]
SECOND = [(0, page) for page in (5, 40, 41, 42, 43, 80)]


def test_starts_are_summed_like_one_start_that_reads_both_sets():
    """Two cold starts of two files are one start that reads both files: the paper's own case."""
    sizes = [100 * PAGE]
    one, two = (predict(recording_of(part, sizes)) for part in (FIRST, SECOND))
    joined = predict(recording_of([*FIRST, *((1, page) for _, page in SECOND)], [100 * PAGE] * 2))
    found = summed([one, two], one.devices[0].name)
    total = joined.total
    at = total.windows.index(found.window)
    assert found.window == total.quasi_optimal
    assert (found.f, found.c_opt, found.tap) == (total.f[at], total.c_opt[at], total.tap)
    assert found.g == total.g_formula[at]


def test_a_disk_that_nobody_reads_has_no_sum():
    assert summed([predict(recording_of(FIRST, [100 * PAGE]))], "sdz") is None
