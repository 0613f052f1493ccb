"""Which of a capture's file systems an image was, as snaps and AppImages need it."""

from dataclasses import replace

import numpy as np
import pytest
from capture_builder import capture_of, recording_of

from foreread.analyzer.layout.order import LayoutError
from foreread.analyzer.layout.same_image import NO_FILE, found_in
from foreread.tracer.formats.capture import Mount

SIZE = 40960
BASE = ["/snap/core22/9/usr/bin/app", "/snap/core22/9/lib/c", "/snap/core22/9/lib/m"]
APP = ["/snap/app/12/usr/bin/app", "/snap/app/12/lib/own"]
DEVS = {"core22": 7 << 20, "app": 7 << 20 | 1}


@pytest.fixture
def recording():
    """A start that reads most pages of a base, and fewer of the application."""
    mounts = [
        Mount(dev="7:0", mountpoint="/snap/core22/9", fstype="squashfs", source="", options=""),
        Mount(dev="7:1", mountpoint="/snap/app/12", fstype="squashfs", source="", options=""),
    ]
    paths = (*BASE, *APP, "/etc/passwd")
    accesses = [(row, page) for row in range(6) for page in range(3 if row < len(BASE) else 1)]
    sizes = [SIZE] * len(paths)
    recording = recording_of(accesses, sizes, paths=paths, capture=capture_of(mounts=mounts))
    devs = [DEVS.get(path.split("/")[2], 8 << 20) for path in paths]
    recording.files["dev"][:] = devs
    return replace(recording, kernel="6.12.0")


def found(recording, names, mountpoint=None):
    rows = {name: row for row, name in enumerate(names)}
    return found_in(recording, rows.get, lambda _: SIZE, mountpoint)


def test_the_file_system_with_most_files_of_the_image_is_taken(recording):
    app = found(recording, ["/usr/bin/app", "/lib/own"])
    assert app.start.mountpoint == "/snap/app/12"
    assert app.start.files == ("/usr/bin/app", "/lib/own")
    assert np.flatnonzero(app.file != NO_FILE).tolist() == [3, 4]
    base = found(recording, ["/usr/bin/app", "/lib/c", "/lib/m"])
    assert base.start.mountpoint == "/snap/core22/9"
    assert base.missing == ()


def test_a_mount_point_is_not_second_guessed(recording):
    names = ["/usr/bin/app", "/lib/own"]
    assert found(recording, names, "/snap/app/12").start.mountpoint == "/snap/app/12"
    with pytest.raises(LayoutError, match="was recorded on another image"):
        found(recording, names, "/snap/core22/9")


def test_an_image_of_none_of_them_is_refused(recording):
    with pytest.raises(LayoutError, match="the image has none of them"):
        found(recording, ["/other"])


def test_a_capture_without_paths_is_refused(recording):
    with pytest.raises(LayoutError, match="no path of a file that was read"):
        found(replace(recording, paths=(None,) * len(recording.paths)), ["/usr/bin/app"])
