"""One order of files from the captures of several starts."""

import pytest
from capture_builder import capture_of, recording_of

from foreread.analyzer.layout.order import LayoutError, Ordered, Start, order_of, start_of
from foreread.tracer.formats.capture import Mount

MOUNTS = [
    Mount(dev="7:0", mountpoint="/", fstype="squashfs", source="", options=""),
    Mount(dev="7:0", mountpoint="/mnt/again", fstype="squashfs", source="", options=""),
    Mount(dev="8:1", mountpoint="/data", fstype="ext4", source="", options=""),
]


def recorded(accesses, paths, **changes):
    recording = recording_of(
        accesses,
        [40960] * len(paths),
        paths=tuple(paths),
        capture=capture_of(mounts=MOUNTS),
        **changes,
    )
    recording.files["dev"][:] = [
        8 << 20 | 1 if path and path.startswith("/data") else 7 << 20 for path in paths
    ]
    return recording


def test_files_are_in_the_order_of_their_first_access():
    start = start_of(recorded([(1, 0), (0, 5), (1, 3), (2, 0)], ["/bin/a", "/bin/b", "/etc/c"]))
    assert start.files == ("/bin/b", "/bin/a", "/etc/c")
    assert start.pages == (2, 1, 1)


def test_other_file_systems_and_unnamed_files_are_not_in_the_order():
    paths = ["/bin/a", "/data/b", None]
    start = start_of(recorded([(2, 0), (2, 1), (1, 0), (0, 0), (0, 1)], paths))
    assert start.files == ("/bin/a",)
    assert start.unnamed_pages == 2


def test_a_mount_point_selects_the_file_system_and_paths_begin_there():
    paths = ["/bin/a", "/data/app/b", "/database"]
    start = start_of(recorded([(0, 0), (0, 1), (1, 0)], paths), "/data/")
    assert start.files == ("/app/b",)


def test_an_unknown_mount_point_is_refused_with_those_of_the_capture():
    with pytest.raises(LayoutError) as caught:
        start_of(recorded([(0, 0)], ["/bin/a"]), "/nowhere")
    assert caught.value.remedy == "give one of: /, /mnt/again, /data"


def test_a_start_without_named_files_is_refused():
    with pytest.raises(LayoutError, match="no path of a file that was read"):
        start_of(recorded([(0, 0)], [None]))
    with pytest.raises(LayoutError, match="no page"):
        start_of(recorded([], []))


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_a_weight_is_above_zero(weight):
    with pytest.raises(LayoutError, match="weight"):
        start_of(recorded([(0, 0)], ["/bin/a"]), weight=weight)


def test_files_of_the_same_starts_are_neighbours_the_heaviest_first():
    boot = Start(("/libc", "/init", "/app-lib"), (3, 1, 1), weight=1.0)
    app = Start(("/app", "/libc", "/app-lib", "/font"), (1, 5, 1, 1), weight=2.0)
    order = order_of([boot, app])
    # Both read libc and app-lib: in the order of the heavier start.
    assert [one.path for one in order] == ["/libc", "/app-lib", "/app", "/font", "/init"]
    assert order[0] == Ordered("/libc", (0, 1), 5)


def test_one_start_keeps_its_own_order():
    start = Start(("/c", "/a", "/b"), (1, 1, 1))
    assert [one.path for one in order_of([start])] == ["/c", "/a", "/b"]


def test_starts_of_equal_weight_with_nothing_in_common_come_one_after_the_other():
    order = order_of([Start(("/b", "/a"), (1, 1)), Start(("/d", "/c"), (1, 1))])
    assert [one.path for one in order] == ["/b", "/a", "/d", "/c"]
