"""Work of others for the application, besides its own computing."""

import numpy as np

from foreread.analyzer.ingest.tables import EVENTS, Kind, Table
from foreread.analyzer.program.other_work import OtherWork

APPLICATION, DRIVER, STRANGER = 10, 20, 30
EACH_NS = 2.0


def events(*rows):
    """Events on CPU 0: time, kind, who did it, whom it names."""
    table = Table.empty(EVENTS, len(rows))
    for name, column in zip(
        ("time_ns", "kind", "pid", "value"), zip(*rows, strict=True), strict=True
    ):
        table[name][:] = column
    return table


def worked(others, since, until):
    cpu, at = np.zeros(1, np.uint16), np.array([[since], [until]], np.uint64)
    return float(others.worked(cpu, at[0], at[1])[0])


def test_recording_is_taken_off_where_it_happened():
    """The driver runs from 100 to 1100; its three events are in the last ten nanoseconds."""
    others = OtherWork(
        events(
            (50, Kind.WAKING, APPLICATION, DRIVER),
            (100, Kind.SWITCH, APPLICATION, DRIVER),
            (1090, Kind.RQ_COMPLETE, DRIVER, 8),
            (1095, Kind.WAKING, DRIVER, APPLICATION),
            (1100, Kind.SWITCH, DRIVER, APPLICATION),
            (1200, Kind.SWITCH, APPLICATION, 0),
        ),
        [APPLICATION],
        EACH_NS,
    )
    assert worked(others, 1090, 1100) == 10 - 2 * EACH_NS
    assert worked(others, 200, 1000) == 800
    assert worked(others, 100, 1100) == 1000 - 3 * EACH_NS
    assert worked(others, 1100, 1200) == 0


def test_unrelated_threads_do_not_count_as_workers():
    others = OtherWork(
        events(
            (100, Kind.SWITCH, APPLICATION, STRANGER),
            (300, Kind.SWITCH, STRANGER, APPLICATION),
            (400, Kind.SWITCH, APPLICATION, 0),
        ),
        [APPLICATION],
        EACH_NS,
    )
    assert worked(others, 100, 300) == 0


def test_a_switch_in_between_is_seen_on_its_processor_alone():
    others = OtherWork(
        events((100, Kind.SWITCH, APPLICATION, 0), (300, Kind.SWITCH, 0, APPLICATION)), [], EACH_NS
    )
    cpu = np.array([0, 0, 0, 1], np.uint16)
    since, until = np.array([[90, 100, 301, 90], [100, 299, 400, 310]], np.uint64)
    assert others.switched(cpu, since, until).tolist() == [True, False, False, False]


def test_of_two_threads_that_wait_the_next_one_has_the_work_of_others():
    """Both could run from 100 on, while the driver worked until 300; the second comes at 500."""
    others = OtherWork(
        events(
            (50, Kind.WAKING, APPLICATION, DRIVER),
            (100, Kind.SWITCH, APPLICATION, DRIVER),
            (300, Kind.SWITCH, DRIVER, APPLICATION),
            (500, Kind.SWITCH, APPLICATION, APPLICATION + 1),
        ),
        [APPLICATION, APPLICATION + 1],
        EACH_NS,
    )
    cpu, since = np.zeros(2, np.uint16), np.array([90, 90], np.uint64)
    came = np.array([300, 500], np.uint64)
    assert others.without_application(cpu, since, came).tolist() == [100, 500]
    assert others.without_application(cpu + 1, since, came).tolist() == [90, 90]
