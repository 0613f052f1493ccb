"""Derives an entry of offsets.toml from a kernel's tree, by its own compiler.

``python3 -m foreread.tracer.probes.make_table TREE --machine armv7l [--cross PREFIX-] [--append]``

TREE is a configured kernel tree (after ``make modules_prepare``) or a distribution's headers
package. A C file of offsetof() is compiled to assembler by the tree's own build system, with its
configuration: nothing runs on the target, and any compiler for it will do.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from foreread.tracer.probes.error import ProbeError
from foreread.tracer.probes.offsets import MEMBERS, Entry, own_table, read_table

_HEADERS = ("linux/fs.h", "linux/mm.h", "linux/pagemap.h", "linux/uio.h")
# As in include/linux/kbuild.h: a line of assembler that the assembler never sees.
_LINE = 'asm volatile("\\n.ascii \\"->{member} %0\\"" : : "i" (offsetof(struct {name}, {field})));'
_FOUND = re.compile(r'\.ascii "->(\S+) [#$]?(\d+)"')
_REMEDY = (
    "give a configured kernel tree (make modules_prepare), or a headers package, with --arch and "
    "--cross as for building it"
)


def main(words: list[str] | None = None) -> int:
    """Print the entry, or add it to the user's own table."""
    parser = argparse.ArgumentParser(
        prog="python3 -m foreread.tracer.probes.make_table",
        description="struct offsets of a kernel without BTF, from its tree",
    )
    parser.add_argument("tree", type=Path, help="configured kernel tree, or unpacked headers")
    parser.add_argument("--machine", required=True, help="what uname -m says on the target")
    parser.add_argument("--arch", help="ARCH of the kernel's make (default: the tree's own)")
    parser.add_argument("--cross", default="", metavar="PREFIX-", help="CROSS_COMPILE")
    parser.add_argument("--origin", default="", help="what to note as the entry's origin")
    parser.add_argument("--append", action="store_true", help=f"add it to {own_table()}")
    args = parser.parse_args(words)
    try:
        entry = derive(args.tree, args.machine, args.arch, args.cross, args.origin)
        if not args.append:
            print(entry_text(entry), end="")
            return 0
        path = own_table()
        read_table(path)  # do not append to a damaged table
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(entry_text(entry))
    except ProbeError as error:
        print(f"make_table: {error}; {error.remedy}", file=sys.stderr)
        return 1
    print(f"make_table: {entry.release} ({entry.machine}) is now in {path}", file=sys.stderr)
    return 0


def derive(tree: Path, machine: str, arch: str | None, cross: str, origin: str = "") -> Entry:
    """Return the offsets of the kernel that ``tree`` is of; raises ProbeError."""
    tree = tree.resolve()
    release = _release(tree)
    values = dict(_FOUND.findall(_assembler(tree, arch, cross)))
    if missing := [member for member in MEMBERS if member not in values]:
        raise ProbeError(f"the compiler gave no offset of {', '.join(missing)}", _REMEDY)
    offsets = {member: int(values[member]) for member in MEMBERS}
    return Entry(release, machine, origin or f"kernel tree {release}", offsets)


def _release(tree: Path) -> str:
    """Return the text of uname -r, which Debian's headers have in one place only."""
    try:
        text = (tree / "include/generated/utsrelease.h").read_text()
    except OSError as error:
        raise ProbeError(f"{tree} names no kernel release: {error.strerror}", _REMEDY) from error
    match = re.search(r'UTS_RELEASE "([^"\n]+)"', text)
    if not match:
        raise ProbeError(f"{tree} names no kernel release", _REMEDY)
    return match[1]


def entry_text(entry: Entry) -> str:
    """Return an entry as TOML."""
    lines = ["", "[[kernel]]"]
    head = {"release": entry.release, "machine": entry.machine, "origin": entry.origin}
    lines += [f"{key} = {_quoted(text)}" for key, text in head.items()]
    lines += ["[kernel.offsets]"]
    lines += [f'"{member}" = {offset}' for member, offset in entry.offsets.items()]
    return "\n".join(lines) + "\n"


def _assembler(tree: Path, arch: str | None, cross: str) -> str:
    """Return the assembler that the tree's build system makes from a file of offsets."""
    with tempfile.TemporaryDirectory(prefix="foreread-offsets-") as scratch:
        work = Path(scratch)
        (work / "Kbuild").write_text("obj-m := offsets.o\n")
        (work / "offsets.c").write_text(_source())
        words = ["make", "-s", "-C", str(tree), f"M={work}", f"CROSS_COMPILE={cross}"]
        words += [f"CC={cross}gcc", *([f"ARCH={arch}"] if arch else []), "offsets.s"]
        try:
            done = subprocess.run(
                words, check=False, capture_output=True, text=True, errors="replace"
            )
        except OSError as error:
            raise ProbeError(f"make: {error.strerror}", "install make and a compiler") from error
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["nothing"]
            raise ProbeError(f"the tree's make failed: {lines[0]}", _REMEDY)
        return (work / "offsets.s").read_text()


def _source() -> str:
    lines = [f"#include <{header}>" for header in _HEADERS]
    lines += ["void foreread_offsets(void);", "void foreread_offsets(void)", "{"]
    for member in MEMBERS:
        name, _, field = member.partition(".")
        lines.append(_LINE.format(member=member, name=name, field=field))
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in text)
    return f'"{escaped}"'


if __name__ == "__main__":
    sys.exit(main())
