"""Paths through the symbolic links of an image."""

import os

import pytest
from image_trees import squashfs

from foreread.emulator.images.links import resolved
from foreread.emulator.images.squashfs import read_squashfs

NAMES = {"/", "/usr", "/usr/lib", "/usr/lib/libc", "/lib", "/lib64", "/a", "/b", "/out", "/up"}
LINKS = {"/lib": "usr/lib", "/lib64": "/lib", "/a": "b", "/b": "a", "/out": "../../usr/lib"}
LINKS["/up"] = "usr/lib/.././lib//libc"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/usr/lib/libc", "/usr/lib/libc"),
        ("/lib/libc", "/usr/lib/libc"),
        ("/lib64/libc", "/usr/lib/libc"),
        ("/out/libc", "/usr/lib/libc"),
        ("/up", "/usr/lib/libc"),
        ("/a", None),
        ("/lib/none", None),
        ("/", "/"),
    ],
)
def test_links_are_followed(path, expected):
    assert resolved(path, NAMES, LINKS) == expected


def test_an_image_resolves_paths_as_the_kernel_does(tmp_path):
    root = tmp_path / "tree"
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/libc").write_bytes(b"libc")
    (root / "lib").symlink_to("usr/lib")
    (root / "usr/lib/libc.so").symlink_to("libc")
    image = read_squashfs(squashfs(root, tmp_path / "image").read_bytes())
    for path in ("/lib/libc.so", "/usr/lib/../lib/libc"):
        expected = os.path.realpath(f"{root}{path}").removeprefix(os.path.realpath(root))
        assert image.resolved(path) == expected == "/usr/lib/libc"
