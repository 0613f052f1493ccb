"""Functions of real ELF files, as nm and the linkers see them."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rings import further

from foreread.analyzer.advise.linking import ORDERED, _script, _sections_of, linker_lists
from foreread.analyzer.advise.symbols import Code, Function, code_of, functions_of, on_pages

PAGE = 4096
NAMES = [f"part{number}" for number in range(6)]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Functions of more than a page each, compiled into sections of their own."""
    folder = tmp_path_factory.mktemp("library")
    body = "".join(
        f'int {name}(int x) {{ __asm__ volatile(".skip 5000, 0x90"); return x + {at}; }}\n'
        for at, name in enumerate(NAMES)
    )
    (folder / "parts.c").write_text(body)
    compiler = ["gcc", "-c", "-O1", "-fPIC", "-ffunction-sections", "parts.c", "-o", "parts.o"]
    subprocess.run(compiler, cwd=folder, check=True)
    return folder


def linked(folder, name, *options):
    subprocess.run(["gcc", "-shared", "-o", name, *options, "parts.o"], cwd=folder, check=True)
    return (folder / name).read_bytes()


def order(content):
    return [one.name for one in functions_of(content) if one.name in NAMES]


def by_nm(path):
    listed = subprocess.run(["nm", "-S", path], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4 and row[3] in NAMES}


def test_functions_are_those_of_nm(sources):
    content = linked(sources, "plain.so")
    found = {one.name: one.size for one in functions_of(content) if one.name in NAMES}
    assert found == by_nm(sources / "plain.so")
    assert {one.section for one in functions_of(content) if one.name in NAMES} == {".text"}


def test_of_a_stripped_library_the_dynamic_symbols_are_known(sources):
    linked(sources, "stripped.so", "-s")
    assert sorted(order((sources / "stripped.so").read_bytes())) == NAMES


def used(content):
    """Return the pages of part4 and part1, as a start accesses them."""
    places = {one.name: one.at // PAGE for one in functions_of(content)}
    return {0: [places["part4"] + 1, places["part1"] + 1]}


@pytest.mark.parametrize(
    ("linker", "option", "kind"),
    further(
        [
            ("gold", "--section-ordering-file", "sections"),
            ("lld", "--symbol-ordering-file", "symbols"),
        ]
    ),
)
def test_linkers_place_the_listed_functions_in_that_order(sources, linker, option, kind):
    if not shutil.which(f"ld.{linker}"):
        pytest.skip(f"no {linker}: its list was not tried")
    content = linked(sources, "before.so")
    lists = linker_lists("/lib/before.so", code_of(content), used(content), PAGE)
    names = lists["lib-before.so.symbols"].decode().split()
    assert {"part4", "part1"} <= set(names)
    assert names.index("part4") < names.index("part1")
    (sources / kind).write_bytes(lists[f"lib-before.so.{kind}"])
    after = linked(sources, f"{linker}.so", f"-fuse-ld={linker}", f"-Wl,{option}={kind}")
    placed = [name for name in order(after) if name in names]
    assert placed == [name for name in names if name in NAMES]
    assert order(after) != order(content)


def test_functions_of_one_name_are_listed_once(sources):
    """lld warns of a symbol that its list has twice."""
    for name in ("one", "two"):
        helper = (
            'static __attribute__((noinline)) int help(int x) { __asm__ volatile(""); return x; }'
        )
        caller = f"int {name}(int x) {{ return help(x) + 1; }}"
        (sources / f"{name}.c").write_text(f"{helper}\n{caller}\n")
    words = ["gcc", "-shared", "-fPIC", "-O1", "one.c", "two.c", "-o", "same.so"]
    subprocess.run(words, cwd=sources, check=True)
    content = (sources / "same.so").read_bytes()
    functions = [one for one in functions_of(content) if one.name in ("one", "two", "help")]
    assert len(functions) == 4
    pages = sorted({one.at // PAGE for one in functions})
    names = linker_lists("/lib/same.so", code_of(content), {0: pages}, PAGE)[
        "lib-same.so.symbols"
    ].split()
    assert names.count(b"help") == 1
    assert {b"one", b"two"} <= set(names)


def test_gnu_ld_places_the_listed_functions_in_an_output_section_of_their_own(sources):
    content = linked(sources, "before.so")
    lists = linker_lists("/lib/before.so", code_of(content), used(content), PAGE)
    (sources / "bfd.ld").write_bytes(lists["lib-before.so.ld"])
    after = linked(sources, "bfd.so", "-fuse-ld=bfd", "-Wl,-T,bfd.ld")
    names = lists["lib-before.so.symbols"].decode().split()
    placed = [one for one in functions_of(after) if one.section == ORDERED]
    assert [one.name for one in placed] == [one for one in names if one in NAMES]
    again = linker_lists("/lib/before.so", code_of(after), {0: [placed[0].at // PAGE]}, PAGE)
    assert f".text.{placed[0].name}" in again["lib-before.so.sections"].decode().split()


@pytest.mark.thorough
def test_a_static_program_has_no_list_for_linkers_that_cannot_move_its_c_library(sources):
    (sources / "main.c").write_text("int part0(int); int main(void) { return part0(1); }")
    found = {}
    for kind, options in (("dynamic", ()), ("static", ("-static",)), ("pie", ("-static-pie",))):
        words = ["gcc", *options, "main.c", "parts.o", "-o", kind]
        subprocess.run(words, cwd=sources, check=True)
        code = code_of((sources / kind).read_bytes())
        found[kind] = set(linker_lists("/bin/p", code, {0: [code.functions[0].at // PAGE]}, PAGE))
    assert found["static"] == found["pie"] == {"bin-p.pages", "bin-p.symbols"}
    assert found["dynamic"] == {*found["static"], "bin-p.sections", "bin-p.ld"}


def test_the_sections_of_code_are_those_of_readelf(sources):
    linked(sources, "plain.so")
    words = ["readelf", "--wide", "--section-headers", sources / "plain.so"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    (row,) = [line.split() for line in said.splitlines() if " .text " in line]
    at, size = (int(row[row.index(".text") + number], 16) for number in (3, 4))
    (section,) = code_of((sources / "plain.so").read_bytes()).sections
    assert (section.at, section.end) == (at, at + size)


def test_a_linker_script_has_no_name_that_could_end_a_statement():
    sections = [".text.plain", ".text.a)}", ".text.*", ".text.b.part.0"]
    assert [line for line in _script(sections).splitlines() if "*" in line] == [
        "    *(.text.plain)",
        "    *(.text.b.part.0)",
    ]


def test_sections_are_named_as_gcc_names_those_of_functions():
    assert [*_sections_of("plain")] == [".text.plain"]
    assert [*_sections_of("rare.cold")] == [".text.unlikely.rare"]
    assert [*_sections_of("main")] == [".text.startup.main", ".text.main"]


def test_pages_are_listed_in_order_and_functions_once():
    functions = [Function("a", 0, 5000, ".text"), Function("b", 5000, 100, ".text.hot")]
    assert [one.name for one in on_pages(functions, [1, 0], PAGE)] == ["a", "b"]
    assert on_pages(functions, [2], PAGE) == []
    assert on_pages([], [0], PAGE) == []


def test_without_symbols_there_is_the_list_of_pages_alone():
    assert linker_lists("/lib/a.so", code_of(b""), {0: [5, 3]}, PAGE) == {
        "lib-a.so.pages": b"5\n3\n"
    }


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_in_peace(data):
    assert functions_of(data) == []
    assert functions_of(b"\x7fELF\x02\x01" + data) == []
    assert code_of(data) == code_of(b"\x7fELF\x02\x01" + data) == Code()


@given(st.data())
def test_damaged_libraries_have_no_function_beyond_their_end(sources, data):
    content = bytearray(linked_once(sources))
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    for one in functions_of(bytes(content)):
        assert one.at >= 0
        assert one.name.isprintable()
    ends = [at for one in code_of(bytes(content)).sections for at in (one.at, one.end)]
    assert ends == sorted(ends)
    assert all(0 <= at <= len(content) for at in ends)


def linked_once(folder):
    if not (folder / "damaged.so").exists():
        linked(folder, "damaged.so")
    return (folder / "damaged.so").read_bytes()
