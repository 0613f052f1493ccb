"""Writes the man pages from the command line's parsers: ``python -m docs.tools.man FOLDER``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from docs.tools.manual import Group, Manual, manuals

EXIT_STATUS = (
    ("0", "The command succeeded."),
    ("1", "The command failed. One line on standard error names the cause and the remedy."),
    ("2", "Wrong usage."),
)
FILES = (
    ("/run/foreread", "Journal of the settings that foreread has changed and not yet restored."),
    ("~/.config/foreread", "Board profiles and tables of kernel structs of your own."),
)


def pages() -> dict[str, str]:
    """Return the text of each page by file name: ``foreread-record.1``."""
    by_name = manuals()
    names = [manual.page for manual in by_name.values()]
    return {f"{manual.page}.1": page(manual, names, by_name) for manual in by_name.values()}


def page(manual: Manual, names: list[str], by_name: dict[str, Manual]) -> str:
    """Return one man page in the man(7) macros."""
    lines = [
        '.\\" Generated from the parsers of foreread/cli.',
        f'.TH {escape(manual.page).upper()} 1 "" foreread "foreread manual"',
        ".SH NAME",
        f"{escape(manual.page)} \\- {escape(manual.summary)}",
        ".SH SYNOPSIS",
        f".B {escape(manual.name)}",
        escape(manual.synopsis.removeprefix(manual.name).strip()),
        ".SH DESCRIPTION",
        escape(f"{manual.summary[:1].upper()}{manual.summary[1:]}."),
        *(line for group in manual.groups for line in _group(group)),
        *_commands([by_name[name] for name in manual.commands]),
        ".SH EXIT STATUS",
        *(line for term, text in EXIT_STATUS for line in _entry(term, text)),
    ]
    if manual.name == "foreread":
        lines += [".SH FILES", *(line for term, text in FILES for line in _entry(term, text))]
    others = [name for name in names if name != manual.page and _is_near(name, manual.page)]
    lines += [".SH SEE ALSO", ",\n".join(f".BR {escape(name)} (1)" for name in others)]
    return "\n".join(lines) + "\n"


def _is_near(name: str, page_name: str) -> bool:
    """Whether a page is one level up or down, or beside the other."""
    return name.count("-") <= 1 or name.startswith(page_name) or page_name.startswith(name)


def _group(group: Group) -> list[str]:
    lines = [f".SH {escape(group.title).upper()}"]
    for argument in group.arguments:
        lines += [".TP", ", ".join(_flag(word) for word in argument.words), escape(argument.help)]
    return lines


def _flag(words: str) -> str:
    flag, _, value = words.partition(" ")
    bold = rf"\fB{escape(flag)}\fR"
    return bold + (rf" \fI{escape(value)}\fR" if value else "")


def _commands(below: list[Manual]) -> list[str]:
    if not below:
        return []
    lines = [".SH COMMANDS"]
    for manual in below:
        lines += _entry(manual.name.rpartition(" ")[2], f"{manual.summary}; see {manual.page}(1)")
    return lines


def _entry(term: str, text: str) -> list[str]:
    return [".TP", rf"\fB{escape(term)}\fR", escape(text)]


def escape(text: str) -> str:
    """Return text in ASCII in which roff finds no command, neither inside nor at its beginning."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in text)
    return re.sub(r"^(?=[.'])", r"\\&", text)


def main() -> None:
    """Write every page into the folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
