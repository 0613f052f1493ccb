"""The order of loading, from .modinfo strings as modpost writes them."""

import lzma

import pytest

from foreread.boards.emulated.modules import dependencies, folder, kernel, load_order


def module(*needs):
    return b"\x7fELF\0license=GPL\0depends=" + ",".join(needs).encode() + b"\0intree=Y\0"


def test_dependencies_come_first(tmp_path):
    files = {"a": module("b-b", "c"), "b-b": module("c"), "c": module(), "other": module()}
    for name, content in files.items():
        (tmp_path / f"{name}.ko").write_bytes(content)
    assert list(load_order(tmp_path, ["a", "c"])) == ["c", "b_b", "a"]


def test_built_in_ones_have_no_file(tmp_path):
    assert load_order(tmp_path, ["ext4"]) == {}


def test_compressed_modules_are_unpacked(tmp_path):
    (tmp_path / "a.ko.xz").write_bytes(lzma.compress(module()))
    assert load_order(tmp_path, ["a"]) == {"a": module()}


def test_no_dependencies():
    assert dependencies(module()) == []
    assert dependencies(b"no module at all") == []


@pytest.mark.parametrize(
    ("modules", "image"),
    [
        ("lib/modules/6.1-a", "boot/vmlinuz-6.1-a"),
        ("lib/modules/6.1-a", "boot/vmlinux-6.1-a"),
        ("usr/lib/modules/7.2-a", "usr/lib/modules/7.2-a/vmlinuz"),
    ],
)
def test_where_a_package_has_the_kernel_and_its_modules(tmp_path, modules, image):
    (tmp_path / modules).mkdir(parents=True)
    (tmp_path / image).parent.mkdir(exist_ok=True)
    (tmp_path / image).touch()
    assert folder(tmp_path) == tmp_path / modules
    assert kernel(tmp_path) == tmp_path / image
