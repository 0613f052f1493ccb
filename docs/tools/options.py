"""A command's synopsis and options as Markdown, with Sphinx's directives for options."""

from __future__ import annotations

from docs.tools.manual import Argument, Manual


def command_lines(manual: Manual) -> list[str]:
    """Return the Markdown of a command."""
    lines = ["```{program} " + manual.name, "```", "", "```text", manual.synopsis, "```", ""]
    for group in manual.groups:
        lines += [f"**{group.title}**", ""]
        for argument in group.arguments:
            lines += _argument_lines(argument)
    return lines


def _argument_lines(argument: Argument) -> list[str]:
    return ["````{option} " + ", ".join(argument.words), "", escaped(argument.help), "````", ""]


def escaped(text: str) -> str:
    """Return text in which Markdown sees no emphasis, link or tag."""
    for character in "*<>[]":
        text = text.replace(character, "\\" + character)
    return text
