"""The application's image and its sample of sound."""

import re
import shutil
import subprocess

import pytest

from foreread.boards.emulated.error import BoardError
from foreread.boards.emulated.image import (
    FILE_SYSTEMS,
    SAMPLE,
    Owner,
    add_board_files,
    build_image,
    check_file_system,
    is_read_only,
    modules_of,
    on_disk,
    silent_mp3,
)

SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"
READ_BY = {
    "ext4": ("mke2fs", "debugfs", "-R", f"cat /{SAMPLE}"),
    "squashfs": ("mksquashfs", "unsquashfs", "-cat"),
}
EXTRACTED_BY = {
    "erofs": ("mkfs.erofs", "fsck.erofs --extract={out} {image}"),
    "erofs-uncompressed": ("mkfs.erofs", "fsck.erofs --extract={out} {image}"),
    "btrfs": ("mkfs.btrfs", "btrfs restore {image} {out}"),
}


def test_frames_follow_each_other_as_their_headers_say():
    sample = silent_mp3(2)
    frame_bytes = 144 * 128_000 // 44_100
    assert len(sample) % frame_bytes == 0
    assert {sample[at : at + 4] for at in range(0, len(sample), frame_bytes)} == {
        b"\xff\xfb\x90\x00"
    }


def test_a_tree_whose_files_are_all_in_usr_gets_the_links(tmp_path):
    for name in ("usr/bin", "usr/lib", "usr/lib64", "usr/share"):
        (tmp_path / "merged" / name).mkdir(parents=True)
    for name in ("usr/lib", "lib"):
        (tmp_path / "apart" / name).mkdir(parents=True)
    (tmp_path / "busybox").touch()
    for tree in ("merged", "apart"):
        add_board_files(tmp_path / tree, tmp_path / "busybox")
    links = {
        path.name: str(path.readlink())
        for path in (tmp_path / "merged").iterdir()
        if path.is_symlink()
    }
    assert links == {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64"}
    assert (tmp_path / "merged/usr/bin/busybox").exists()
    assert not [path for path in (tmp_path / "apart").iterdir() if path.is_symlink()]


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


@pytest.mark.parametrize("fs", EXTRACTED_BY)
def test_an_image_that_is_extracted_holds_the_tree(fs, tmp_path):
    maker, line = EXTRACTED_BY[fs]
    out, image = tmp_path / "out", tmp_path / "image"
    words = [word.format(out=out, image=image) for word in line.split()]
    program = shutil.which(words[0], path=SYSTEM)
    if program is None or shutil.which(maker, path=SYSTEM) is None:
        pytest.skip(f"no {maker} or no {words[0]}: no {fs} image was made and read")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / SAMPLE).write_bytes(silent_mp3(2))
    build_image(tree, fs, image)
    out.mkdir(exist_ok=True)
    subprocess.run([program, *words[1:]], capture_output=True, check=True)
    assert (out / SAMPLE).read_bytes() == (tree / SAMPLE).read_bytes()


def test_an_image_of_f2fs_has_the_names_of_the_tree(tmp_path):
    program = shutil.which("fsck.f2fs", path=SYSTEM)
    if program is None:
        pytest.skip("no fsck.f2fs: no f2fs image was made and read")
    tree = tmp_path / "tree"
    (tree / "usr/bin").mkdir(parents=True)
    (tree / "usr/bin/tool").write_bytes(bytes(5000))
    (tree / "bin").symlink_to("usr/bin")
    build_image(tree, "f2fs", tmp_path / "image")
    words = [program, "--dry-run", "-t", tmp_path / "image"]
    read = subprocess.run(words, capture_output=True, check=True, text=True).stdout
    names = re.findall(r"\|-- (\S+) <", read)
    assert sorted(names) == ["bin", "bin", "tool", "usr"]


@pytest.mark.parametrize("fs", [*EXTRACTED_BY, "f2fs"])
def test_an_image_without_owners_refuses_files_of_others(fs, tmp_path):
    with pytest.raises(BoardError, match="root's files only") as refused:
        build_image(tmp_path, fs, tmp_path / "image", owners=[Owner("var/mail", 0, 8)])
    assert "--fs ext4" in refused.value.remedy


def test_an_overlay_has_the_image_of_its_lower_layer_and_two_modules():
    assert on_disk("overlay-erofs") == on_disk("erofs") == "erofs"
    assert on_disk("erofs-uncompressed") == "erofs"
    assert modules_of("overlay-erofs") == ("erofs", "overlay")
    assert modules_of("ext4") == ()
    assert modules_of("f2fs") == ("crc32_generic", "f2fs")
    assert [fs for fs in FILE_SYSTEMS if not is_read_only(fs)] == ["ext4", "btrfs", "f2fs"]


def test_an_uncompressed_erofs_is_larger(tmp_path):
    if shutil.which("mkfs.erofs", path=SYSTEM) is None:
        pytest.skip("no mkfs.erofs: no EROFS image was made")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "zeros").write_bytes(bytes(1 << 20))
    for fs in ("erofs", "erofs-uncompressed"):
        build_image(tree, fs, tmp_path / fs)
    assert (tmp_path / "erofs").stat().st_size < 1 << 19
    assert (tmp_path / "erofs-uncompressed").stat().st_size > 1 << 20


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
