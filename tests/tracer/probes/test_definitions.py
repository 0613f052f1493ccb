"""Definitions of probes by kernel and machine, and where their offsets come from."""

from __future__ import annotations

import pytest
from btf_files import BtfFile

from foreread.tracer.probes import FAULT, MAP, OPEN, PROBES, READ, ProbeError, plan
from foreread.tracer.probes.offsets import MEMBERS, TABLE, find_offsets, own_table, read_table

ARMHF = ("6.1.0-50-armmp", "armv7l")
MIPS = ("6.1.0-50-4kc-malta", "mips")


@pytest.fixture(autouse=True)
def _no_own_table(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def btf_of(places):
    """Return BTF with the members in the given places (bytes), all others at 8."""
    file = BtfFile()
    number = file.integer()
    for name in {member.partition(".")[0] for member in MEMBERS}:
        fields = [m.partition(".")[2] for m in MEMBERS if m.startswith(f"{name}.")]
        file.struct(name, *((f, number, 8 * places.get(f"{name}.{f}", 8)) for f in fields))
    return file.data


def test_definitions_that_were_seen_working_on_32_bit():
    """Those of Debian's armmp kernel 6.1, with which the pages touched were the pages loaded."""
    found = plan(*ARMHF, None, group="foreread_7_8")
    assert found.definitions == [
        "p:foreread_7_8/file_fault filemap_fault file=+56(+0(%r0)):u32 "
        "ino=+40(+16(+56(+0(%r0)))):u32 dev=+8(+28(+16(+56(+0(%r0))))):u32 index=+8(%r0):u32",
        "p:foreread_7_8/file_read filemap_read file=+0(%r0):u32 ino=+40(+16(+0(%r0))):u32 "
        "dev=+8(+28(+16(+0(%r0)))):u32 pos=+8(%r0):u64 count=+8(%r1):u32",
        "p:foreread_7_8/file_map mmap_region file=%r0:u32 ino=+40(+16(%r0)):u32 "
        "dev=+8(+28(+16(%r0))):u32 index=$stack0:u32 addr=%r1:u32 len=%r2:u32 vm_flags=%r3:u32",
        "p:foreread_7_8/openat do_filp_open dfd=%r0:s32 flags=+0(%r2):u32 path=+0(+0(%r1)):string",
    ]
    assert found.origin == "table, 6.1.0-50-armmp armv7l"
    assert any(found.origin in note for note in found.notes)


def test_btf_counts_before_the_table():
    places = {"vm_area_struct.vm_file": 100, "vm_fault.pgoff": 24}
    found = plan("6.1.0-56-cloud-amd64", "x86_64", btf_of(places), [FAULT])
    assert found.origin == "BTF"
    assert found.definitions == [
        "p:foreread/file_fault filemap_fault file=+100(+8(%di)):u64 "
        "ino=+8(+8(+100(+8(%di)))):u64 dev=+8(+8(+8(+100(+8(%di))))):u32 index=+24(%di):u64"
    ]


def test_only_requested_probes_are_defined():
    found = plan(*ARMHF, None, [OPEN, READ])
    assert list(found.bodies) == [READ, OPEN]
    assert [line.split()[0] for line in found.definitions] == [
        "p:foreread/file_read",
        "p:foreread/openat",
    ]


@pytest.mark.parametrize(("release", "function"), [("6.19.9", "filp"), ("7.0.0-rc1", "file")])
def test_linux_7_0_renames_the_function_that_opens_files(release, function):
    (opening,) = plan(release, "aarch64", btf_of({}), [OPEN]).definitions
    assert f" do_{function}_open " in opening


def test_arguments_on_the_stack_and_the_function_of_older_kernels():
    (mapping,) = plan(*MIPS, None, [MAP], at_any_risk=True).definitions
    assert "index=$stack4:u32" in mapping  # o32 keeps room for the first four
    (read,) = plan("5.10.0-33-amd64", "x86_64", btf_of({}), [READ]).definitions
    assert " generic_file_read_iter " in read
    (read,) = plan("5.12.1", "x86_64", btf_of({}), [READ]).definitions
    assert " filemap_read " in read


@pytest.mark.parametrize(
    ("release", "machine", "message"),
    [
        ("3.18.140", "armv7l", "4.11 or later"),
        ("4.10.17", "mips", "4.11 or later"),
        ("5.10.0-33-armmp", "armv7l", "no BTF"),
        ("6.1.0", "parisc64", "machine 'parisc64'"),
        (*MIPS, "brought down"),
        ("6.10.3", "armv7l", "no BTF"),
        ("nonsense; rm -rf /", "armv7l", "not a kernel release"),
        ("", "armv7l", "not a kernel release"),
    ],
)
def test_unknown_facts_are_reported(release, machine, message):
    with pytest.raises(ProbeError, match=message) as caught:
        plan(release, machine, None)
    assert caught.value.remedy


@pytest.mark.parametrize("group", ["a b", "x/../y", "", "7a", "g\nx", "g" * 64])
def test_a_group_is_a_name(group):
    with pytest.raises(ProbeError):
        plan(*ARMHF, None, group=group)


def test_a_kernels_configuration_is_determined_by_the_end_of_its_release():
    assert find_offsets("6.1.0-41-armmp", "armv7l", None).of["vm_area_struct.vm_file"] == 56
    lpae = find_offsets("6.1.0-41-armmp-lpae", "armv7l", None)
    assert (lpae.of["vm_area_struct.vm_file"], lpae.origin) == (
        64,
        "table, 6.1.0-50-armmp-lpae armv7l",
    )


def test_the_users_own_table_is_read_and_checked():
    path = own_table()
    path.parent.mkdir()
    offsets = "\n".join(f'"{member}" = {4 * i}' for i, member in enumerate(MEMBERS))
    head = '[[kernel]]\nrelease = "4.14.90-vendor"\nmachine = "armv7l"\norigin = "own"\n'
    path.write_text(f"{head}[kernel.offsets]\n{offsets}\n")
    assert find_offsets("4.14.90-vendor", "armv7l", None).of["filename.name"] == 40
    path.write_text(f'{head}[kernel.offsets]\n"vm_fault.vma" = 0\n')
    with pytest.raises(ProbeError, match=r"lacks vm_fault\.pgoff"):
        find_offsets("4.14.90-vendor", "armv7l", None)
    for damage in (
        "x",
        "kernel = 3",
        f"{head}surplus = 1\n[kernel.offsets]\n",
        f"{head}offsets=-1",
    ):
        path.write_text(damage)
        with pytest.raises(ProbeError, match=r"offsets\.toml"):
            find_offsets("4.14.90-vendor", "armv7l", None)


def test_every_entry_that_ships_is_whole_and_gives_definitions():
    entries = read_table(TABLE)
    assert {"armv7l", "mips", "s390x"} <= {entry.machine for entry in entries}
    for entry in entries:
        assert set(entry.offsets) == set(MEMBERS)
        found = plan(entry.release, entry.machine, None, at_any_risk=True)
        assert len(found.definitions) == len(PROBES)
