"""The folder for those who build images."""

import os
import subprocess
import tarfile

import pytest

from foreread.analyzer.layout.order import LayoutError, Ordered
from foreread.analyzer.layout.write import ErofsWords, write_layout
from foreread.emulator.images.erofs import read_erofs

ORDER = [Ordered(path, (0,), 1) for path in ("/usr/bin/b", "/etc/with space", "/usr/bin/a")]


def test_the_folder_has_sort_files_and_instructions(tmp_path):
    found = write_layout(ORDER, tmp_path / "out", block_size=262144, compressor="zstd")
    names = ["squashfs.sort", "gensquashfs.sort", "tar.first", "compress.hints", "INSTALL.md"]
    programs = ["reordered-tar", "ordered-ext4", "ordered-erofs"]
    assert [path.name for path in found] == [*names, *programs]
    text = (tmp_path / "out/INSTALL.md").read_text()
    assert "mksquashfs ROOT IMAGE -noappend -sort squashfs.sort -b 256K -comp zstd\n" in text
    assert 'BR2_TARGET_ROOTFS_SQUASHFS_BS="256K"' in text
    assert "--block-size 262144 --compressor zstd IMAGE" in text
    assert "1 recorded start reads them" in text
    assert "not in `gensquashfs.sort`" not in text


def test_without_options_the_builder_s_own_are_kept(tmp_path):
    write_layout(ORDER, tmp_path, starts=3)
    text = (tmp_path / "INSTALL.md").read_text()
    assert "-sort squashfs.sort\n" in text
    assert "SQUASHFS_BS" not in text
    assert "3 recorded starts read them" in text


def test_names_that_gensquashfs_cannot_have_are_said(tmp_path):
    write_layout([Ordered("/a`b ", (0,), 1)], tmp_path)
    assert "- `/a\\x60b `" in (tmp_path / "INSTALL.md").read_text()
    assert (tmp_path / "gensquashfs.sort").read_bytes() == b""


@pytest.mark.parametrize("order", [[], [Ordered("/a\nb", (0,), 1)]])
def test_nothing_is_written_for_an_order_that_cannot_be(order, tmp_path):
    with pytest.raises(LayoutError):
        write_layout(order, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_reordered_tar_has_everything_once_and_the_order_first(tmp_path):
    root = tmp_path / "root"
    every = ["usr/bin/a", "usr/bin/b", "usr/lib/c", "etc/with space", "etc/-dash"]
    for name in every:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "link").symlink_to("nowhere")
    order = [*ORDER, Ordered("/not/there", (0,), 1), Ordered("/link", (0,), 1)]
    write_layout(order, tmp_path / "out")
    command = ["sh", tmp_path / "out/reordered-tar", root, tmp_path / "root.tar"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    with tarfile.open(tmp_path / "root.tar") as archive:
        names = [name.removeprefix("./") for name in archive.getnames()]
    first = ["usr", "usr/bin", "usr/bin/b", "etc", "etc/with space", "usr/bin/a", "link"]
    assert names[:7] == first
    assert sorted(names) == sorted([*every, "usr", "usr/bin", "usr/lib", "etc", "link"])


def test_an_ext4_image_has_the_files_of_the_order_one_after_another(tmp_path):
    root, image = tmp_path / "root", tmp_path / "image"
    for number in range(40):
        path = root / f"{number % 4}/{number:02d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([number + 1]) * 5000)
    (root / "0/link").symlink_to("00")
    (root / "0/with space").write_text("text")
    paths = ["/3/39", "/0/with space", "/1/05", "/2/02", "/0/link", "/not/there", "/3/03"]
    write_layout([Ordered(path, (0,), 1) for path in paths], tmp_path / "out")
    command = ["sh", tmp_path / "out/ordered-ext4", root, image, "8M", "-b", "4096"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    inodes = {path: _debugfs(image, f'stat "{path}"') for path in paths if "/n" not in path}
    order = [path for path in paths if path in inodes and path != "/0/link"]
    numbers = [int(inodes[path].split("Inode:")[1].split()[0]) for path in order]
    assert numbers == list(range(numbers[0], numbers[0] + 5))
    assert all("Links: 1 " in inodes[path] for path in order)
    blocks = [int(inodes[path].split("EXTENTS:")[1].split(":")[1].split("-")[0]) for path in order]
    assert blocks == sorted(blocks)
    assert ".foreread-order" not in _debugfs(image, "ls /")
    assert _debugfs(image, 'cat "/0/with space"') == "text"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image", "out", "root"]
    assert (root / "3/39").stat().st_nlink == 1


def _debugfs(image, command):
    run = subprocess.run(["debugfs", "-R", command, image], capture_output=True, check=True)
    return run.stdout.decode()


@pytest.mark.parametrize("name", ["reordered-tar", "ordered-ext4"])
def test_the_scripts_are_clean(name, tmp_path):
    write_layout(ORDER, tmp_path)
    command = ["shellcheck", tmp_path / name]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.stdout == ""
    assert run.returncode == 0


def test_compress_hints_give_each_file_a_cluster_size_by_an_expression(tmp_path):
    order = [Ordered("/usr/lib/c++.so", (0,), 3), Ordered("/a b", (0,), 1)]
    write_layout(order, tmp_path / "out", erofs=ErofsWords("lz4", 16384))
    hints = (tmp_path / "out/compress.hints").read_text()
    assert hints == "16384 ^usr/lib/c\\+\\+\\.so$\n"
    install = (tmp_path / "out/INSTALL.md").read_text()
    assert "sh ordered-erofs ROOT IMAGE -zlz4 -C16384\n" in install


def test_ordered_erofs_stores_the_files_of_the_order_first(tmp_path):
    root = tmp_path / "root"
    (root / "usr").mkdir(parents=True)
    for number in range(9):
        (root / f"usr/{number}").write_bytes(os.urandom(9000))
    order = [Ordered(f"/usr/{number}", (0,), 3) for number in (7, 2, 5)]
    write_layout(order, tmp_path / "out")
    script = tmp_path / "out/ordered-erofs"
    subprocess.run(["sh", script, root, tmp_path / "image", "-zlz4"], check=True)
    image = read_erofs((tmp_path / "image").read_bytes())
    first = {
        name: int(image.pieces["place"][image.files["first"][row]])
        for name, row in image.names.items()
        if row >= 0
    }
    assert sorted(map(str, range(9)), key=lambda one: first[f"/usr/{one}"])[:3] == ["7", "2", "5"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image", "out", "root"]
