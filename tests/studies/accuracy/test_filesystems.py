"""studies/accuracy: the cells of root file systems, and their table."""

from capture_builder import capture_of
from event_table import DISK, insert, read, table

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.boards.emulated.image import FILE_SYSTEMS
from foreread.boards.emulated.machines import MACHINES
from foreread.tracer.formats.capture import Mount
from studies.accuracy import filesystem_tables, on_boards, on_filesystems, page_sets
from studies.accuracy.store import Cell


def test_three_starts_are_measured_from_each_root_on_each_kernel():
    cells = on_filesystems.cells(on_boards.Live())
    roots = [cell.name.rpartition("-")[0] for cell in cells]
    assert {roots.count(root) for root in roots} == {3}
    usual = len(on_filesystems.ROOTS) * len(on_filesystems.KERNELS)
    assert len(set(roots)) == usual + len(on_filesystems.MORE)
    assert {fs for _, _, fs in on_filesystems.MORE} <= set(FILE_SYSTEMS)
    assert set(on_filesystems.ROOTS) <= set(FILE_SYSTEMS)
    assert set(on_filesystems.KERNELS) <= set(MACHINES["x86_64"].kernels)
    f2fs = {root.removeprefix("f2fs-") for root in roots if root.startswith("f2fs-")}
    assert f2fs == {f"{kernel}-generic" for kernel in on_filesystems.KERNELS}
    assert f2fs <= set(MACHINES["x86_64"].offered)


def test_the_table_has_the_worst_of_all_starts():
    cell = Cell("filesystems", "a", "", dict)

    def start(jaccard, pages, worst):
        row = {"read_ahead_kb": 4, "jaccard": jaccard, "pages": pages, "requests": [10, 10]}
        figures = [{"name": "worst error", "value": worst}, {"name": "regret", "value": None}]
        point = {"read_ahead_kb": 4, "measured": {"seconds": 2.0}, "predicted": {"seconds": 1.9}}
        unknown = {"read_ahead_kb": 8, "measured": {"seconds": 2.0}, "predicted": None}
        root = {"file_system": "squashfs", "kernel": "6.1", "machine": "x86_64"}
        return {
            "root": root,
            "pages": [row],
            "seconds": {"rows": [{"figures": figures, "points": [point, unknown]}]},
        }

    made = [(cell, start(1.0, [100, 100], 0.01)), (cell, start(0.99, [99, 100], 0.02))]
    row, *rest = filesystem_tables.lines(made)[2:]
    assert row == "| squashfs | 6.1 | 2 | 0.9900 | 1.00 % | 0.00 % | – | 2.00 % | – |"
    assert rest[-4:] == [
        "| a | 4 | 1.0000 | 100 / 100 | 10 / 10 | 1.900 | 2.000 | -5.00 % |",
        "| a | 8 | – | – | – | – | 2.000 | – |",
        "| a | 4 | 0.9900 | 99 / 100 | 10 / 10 | 1.900 | 2.000 | -5.00 % |",
        "| a | 8 | – | – | – | – | 2.000 | – |",
    ]


def test_links_whose_text_is_in_the_trees_of_btrfs_are_not_compared():
    mount = Mount(dev=f"{DISK >> 20}:0", mountpoint="/", fstype="btrfs", source="", options="")
    events = table(insert(5, 0), insert(6, 0), read(100, 1))
    run = interpret(Trace("test", events), capture_of(mounts=[mount]), [], "all")
    assert page_sets._never_read(run) == {5}
