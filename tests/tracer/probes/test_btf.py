"""The reader of BTF against a writer, against hostile bytes, and against the running kernel's."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from btf_files import CONST, STRUCT, TYPEDEF, UNION, BtfFile
from hypothesis import given
from hypothesis import strategies as st

from foreread.tracer.probes import ProbeError
from foreread.tracer.probes.btf import Btf
from foreread.tracer.probes.offsets import MEMBERS

KERNEL = Path("/sys/kernel/btf/vmlinux")


@pytest.mark.parametrize("order", "<>")
def test_members_of_anonymous_members_are_found(order):
    file = BtfFile(order)
    number = file.integer()
    inner = file.struct("", ("vma", number, 0), ("pgoff", number, 128))
    constant = file.add(CONST, "", inner)
    named = file.add(TYPEDEF, "fault_t", constant)
    either = file.struct("", ("", named, 0), ("flat", number, 0), kind=UNION)
    file.struct("vm_fault", ("flags", number, 0), ("", either, 64), ("page", number, 320))
    btf = Btf(file.data)
    found = [btf.offset(f"vm_fault.{name}") for name in ("flags", "vma", "pgoff", "flat", "page")]
    assert found == [0, 8, 24, 8, 40]


def test_a_bit_field_and_a_union_of_that_name_do_not_count():
    file = BtfFile()
    number = file.integer()
    file.struct("s", ("bit", number, 3 << 24 | 8), ("whole", number, 64), flag=1)
    file.struct("file", ("f_inode", number, 32), kind=UNION)
    btf = Btf(file.data)
    assert btf.offset("s.whole") == 8
    for path in ("s.bit", "s.absent", "file.f_inode", "none.at_all"):
        with pytest.raises(ProbeError, match=f"no member {path}") as caught:
            btf.offset(path)
        assert caught.value.remedy


def test_two_structs_of_one_name_have_to_agree():
    file = BtfFile()
    number = file.integer()
    file.struct("file", ("f_inode", number, 32))
    file.struct("file", ("f_inode", number, 32), ("other", number, 0))
    assert Btf(file.data).offset("file.f_inode") == 4
    file.struct("file", ("f_inode", number, 64))
    with pytest.raises(ProbeError, match="no single member"):
        Btf(file.data).offset("file.f_inode")


def test_circles_end():
    file = BtfFile()
    # an anonymous struct in itself, twice; and a typedef of itself
    file.struct("s", ("", 1, 0), ("", 1, 64))
    with pytest.raises(ProbeError, match="too many members"):
        Btf(file.data).offset("s.x")
    file = BtfFile()
    file.add(TYPEDEF, "t", 1)
    file.struct("s", ("", 1, 0))
    with pytest.raises(ProbeError, match="circle"):
        Btf(file.data).offset("s.x")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "begin"),
        (b"\x7fELF" + bytes(60), "begin"),
        (BtfFile().data[:10], "ends too early"),
        (BtfFile().data[:-1], "ends too early"),
        (BtfFile(types=[b"\0" * 12]).data, "kind 0"),
        (BtfFile(types=[b"\0\0\0\0\1\0\0\x04\0\0\0\0"]).data, "cut off"),
        (BtfFile(types=[b"\0" * 5]).data, "cut off"),
    ],
)
def test_invalid_btf_is_refused(data, why):
    with pytest.raises(ProbeError, match=why) as caught:
        Btf(data)
    assert caught.value.remedy


@st.composite
def structs(draw, depth=3):
    """Return a tree: names with offsets in bytes, or trees with theirs."""
    names = draw(st.lists(st.integers(0, 10**6), max_size=4))
    parts = [(f"m{name}", 8 * i) for i, name in enumerate(names)]
    if depth:
        trees = draw(st.lists(structs(depth - 1), max_size=2))
        parts += [(tree, 8 * (10 + i)) for i, tree in enumerate(trees)]
    return draw(st.permutations(parts))


def _write(file, tree, number, name="", kind=STRUCT):
    members = [
        (part, number, at * 8)
        if isinstance(part, str)
        else ("", _write(file, part, number, kind=UNION), at * 8)
        for part, at in tree
    ]
    return file.struct(name, *members, kind=kind)


def _expected(tree, base=0):
    for part, at in tree:
        if isinstance(part, str):
            yield part, base + at
        else:
            yield from _expected(part, base + at)


@given(structs(), st.sampled_from("<>"))
def test_any_tree_of_members(tree, order):
    file = BtfFile(order)
    _write(file, tree, file.integer(), "root")
    btf = Btf(file.data)
    places: dict[str, set[int]] = {}
    for name, at in _expected(tree):
        places.setdefault(name, set()).add(at)
    for name, at in places.items():
        if len(at) == 1:
            assert {btf.offset(f"root.{name}")} == at
        else:
            with pytest.raises(ProbeError):
                btf.offset(f"root.{name}")


@given(
    st.sampled_from("<>"),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=8),
    st.integers(0, 400),
)
def test_damage_is_an_error_or_harmless(order, changes, cut):
    file = BtfFile(order)
    number = file.integer()
    inner = file.struct("", ("vma", number, 0))
    file.struct("vm_fault", ("", file.add(CONST, "", inner), 0), ("pgoff", number, 64))
    data = bytearray(file.data)
    for at, value in changes:
        data[at % len(data)] = value
    try:
        found = Btf(bytes(data[: len(data) - cut])).offset("vm_fault.vma")
    except ProbeError:
        return
    assert 0 <= found < 1 << 29


@given(st.binary(max_size=200))
def test_any_bytes(data):
    with pytest.raises(ProbeError):
        Btf(b"\x9f\xeb\1\0" + data).offset("file.f_inode")


@pytest.mark.skipif(not KERNEL.exists(), reason="this kernel has no BTF")
def test_the_running_kernels_types_as_bpftool_prints_them():
    bpftool = shutil.which("bpftool", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if bpftool is None:
        pytest.skip("bpftool, the reference, is not installed")
    printed = subprocess.run(
        [bpftool, "btf", "dump", "file", KERNEL], capture_output=True, text=True, check=True
    ).stdout
    types = dict(re.findall(r"^\[(\d+)\] (.*(?:\n\t.*)*)", printed, re.M))
    btf = Btf(KERNEL.read_bytes())
    for path in MEMBERS:
        assert btf.offset(path) * 8 == _printed_offset(types, path), path


def _printed_offset(types, path):
    name, _, member = path.partition(".")
    heads = [text for text in types.values() if text.startswith(f"STRUCT '{name}' ")]
    assert len(heads) == 1
    return _look(types, heads[0], member)


def _look(types, text, member):
    for name, type_, bits in re.findall(r"'(.*)' type_id=(\d+) bits_offset=(\d+)", text):
        if name == member:
            return int(bits)
        inside = types[type_]
        while inside.startswith(("CONST", "TYPEDEF")):
            inside = types[re.search(r"type_id=(\d+)", inside)[1]]
        if name == "(anon)" and (found := _look(types, inside, member)) is not None:
            return int(bits) + found
    return None
