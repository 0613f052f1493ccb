"""The table's maker on trees that are stand-ins; tests/kernel/test_probes.py has real ones."""

from __future__ import annotations

import shutil

import pytest

from foreread.tracer.probes.make_table import derive, entry_text, main
from foreread.tracer.probes.offsets import MEMBERS, Entry, own_table, read_table

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("gcc") is None, reason="needs make and gcc"
)

# As kbuild's: one C file to assembler, with the tree's include folders.
MAKEFILE = "%.s:\n\t$(CC) $(if $(BAD),-DBAD) -I$(CURDIR)/include -S -o $(M)/$@ $(M)/$*.c\n"


@pytest.fixture
def tree(tmp_path):
    """A tree in which every struct has its members eight bytes apart, the second from 8 on."""
    root = tmp_path / "tree"
    for folder in ("linux", "generated"):
        (root / "include" / folder).mkdir(parents=True)
    names = dict.fromkeys(member.partition(".")[0] for member in MEMBERS)
    text = "#include <stddef.h>\n"
    for name in names:
        fields = [m.partition(".")[2] for m in MEMBERS if m.startswith(f"{name}.")]
        text += f"struct {name} {{ long first; {' '.join(f'long {f};' for f in fields)} }};\n"
    (root / "include/linux/fs.h").write_text(text)
    for header in ("mm", "pagemap", "uio"):
        (root / f"include/linux/{header}.h").touch()
    (root / "include/generated/utsrelease.h").write_text('#define UTS_RELEASE "4.14.90-own"\n')
    (root / "Makefile").write_text(MAKEFILE)
    return root


def test_offsets_are_those_of_the_compiler(tree):
    entry = derive(tree, "armv7l", None, "")
    assert (entry.release, entry.machine) == ("4.14.90-own", "armv7l")
    assert entry.offsets["vm_fault.vma"] == entry.offsets["kiocb.ki_filp"] == 8
    assert entry.offsets["vm_fault.pgoff"] == 16


def test_the_entry_is_added_to_the_users_table(tree, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main([str(tree), "--machine", "mips", "--append"]) == 0
    assert main([str(tree), "--machine", "armv7l", "--append"]) == 0
    assert [entry.machine for entry in read_table(own_table())] == ["mips", "armv7l"]
    assert "4.14.90-own" in capsys.readouterr().err


def test_hostile_words_stay_text(tmp_path):
    entry = Entry('6.1"\n[x]', "mips", "back\\slash \x1b", dict.fromkeys(MEMBERS, 1))
    path = tmp_path / "table.toml"
    path.write_text(entry_text(entry))
    assert read_table(path) == [entry]


def test_an_invalid_tree_is_an_error(tree, tmp_path, capsys):
    assert main([str(tmp_path / "none"), "--machine", "mips"]) == 1
    assert "names no kernel release" in capsys.readouterr().err
    (tree / "include/linux/fs.h").write_text("#error not configured\n")
    assert main([str(tree), "--machine", "mips"]) == 1
    said = capsys.readouterr().err
    assert "make failed" in said and "modules_prepare" in said
    (tree / "Makefile").write_text("offsets.s:\n\techo > $(M)/$@\n")
    assert main([str(tree), "--machine", "mips"]) == 1
    assert "no offset of vm_fault.vma" in capsys.readouterr().err
