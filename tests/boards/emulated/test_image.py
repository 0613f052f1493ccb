"""The application's image and its sample of sound."""

import shutil
import subprocess

import pytest

from boards.emulated.error import BoardError
from boards.emulated.image import (
    SAMPLE,
    add_board_files,
    build_image,
    check_file_system,
    silent_mp3,
)

SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"
READ_BY = {
    "ext4": ("mke2fs", "debugfs", "-R", f"cat /{SAMPLE}"),
    "squashfs": ("mksquashfs", "unsquashfs", "-cat"),
}


def test_frames_follow_each_other_as_their_headers_say():
    sample = silent_mp3(2)
    frame_bytes = 144 * 128_000 // 44_100
    assert len(sample) % frame_bytes == 0
    assert {sample[at : at + 4] for at in range(0, len(sample), frame_bytes)} == {
        b"\xff\xfb\x90\x00"
    }


@pytest.mark.parametrize("fs", READ_BY)
def test_an_image_holds_the_tree(fs, tmp_path):
    maker, reader, *options = READ_BY[fs]
    program = shutil.which(reader, path=SYSTEM)
    if program is None or shutil.which(maker, path=SYSTEM) is None:
        pytest.skip(f"no {maker} or no {reader}: no {fs} image was made and read")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "busybox").write_bytes(b"program")
    add_board_files(tree, tmp_path / "busybox")
    build_image(tree, fs, tmp_path / "image")
    path = [SAMPLE] if fs == "squashfs" else []
    words = [program, *options, tmp_path / "image", *path]
    sample = subprocess.run(words, capture_output=True, check=True).stdout
    assert sample == (tree / SAMPLE).read_bytes()
    if fs == "ext4":  # whoever built it
        words = [program, "-R", f"stat /{SAMPLE}", tmp_path / "image"]
        assert b"User:     0 " in subprocess.run(words, capture_output=True, check=True).stdout


def test_a_file_with_many_names_takes_its_room_once(tmp_path):
    if shutil.which("mke2fs", path=SYSTEM) is None:
        pytest.skip("no mke2fs: no ext4 image was made")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "driver0").write_bytes(b"x" * (4 << 20))
    for number in range(1, 20):
        (tree / f"driver{number}").hardlink_to(tree / "driver0")
    build_image(tree, "ext4", tmp_path / "image")
    assert (tmp_path / "image").stat().st_size < 12 << 20


def test_unknown_file_system():
    with pytest.raises(BoardError, match="'ntfs'"):
        check_file_system("ntfs")
