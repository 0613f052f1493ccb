"""The site's own directives: options from parsers, documents from schemas, tables from data."""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from docs.tools import api, lists
from docs.tools.json_schemas import schemas
from docs.tools.manual import manuals
from docs.tools.options import command_lines
from docs.tools.schemas import schema_lines
from foreread.documents.every import COMMANDS, FILES


class _Generated(SphinxDirective):
    """A directive whose content is Markdown that is made from code."""

    has_content: ClassVar[bool] = False
    required_arguments: ClassVar[int] = 1
    final_argument_whitespace: ClassVar[bool] = True

    def lines(self) -> list[str]:
        """Return the Markdown."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the Markdown."""
        self.env.note_reread()  # Sphinx does not see changes of the code
        source = f"<{self.name} {self.arguments[0]}>"
        container = nodes.container()
        self.state.nested_parse(StringList(self.lines(), source=source), 0, container)
        return list(container.children)


class Command(_Generated):
    """``{foreread-command} foreread record``: synopsis and options of one command."""

    def lines(self) -> list[str]:
        """Return the Markdown."""
        return command_lines(manuals()[self.arguments[0]])


class Schemas(_Generated):
    """``{json-schemas} commands``: of each JSON document its name, its schema, its members."""

    def lines(self) -> list[str]:
        """Return the Markdown of the members."""
        return [line for name in self._names() for line in self._document(name)]

    def _names(self) -> list[str]:
        return list({"commands": COMMANDS, "files": FILES}[self.arguments[0]])

    def _document(self, name: str) -> list[str]:
        """Return the Markdown of one document, whose schema `make docs` writes beside the page."""
        schema = schemas()[name]
        link = f'<a href="schemas/{name}.json">{name}.json</a>'
        head = [
            "```{rubric} " + schema["title"],
            f":name: {name}",
            "```",
            "",
            f"Schema: {link}",
            "",
        ]
        return [*head, *schema_lines(schema)]


class List(_Generated):
    """``{foreread-list} settings``: a table of the reference, from the program's own data."""

    def lines(self) -> list[str]:
        """Return the Markdown."""
        return lists.LISTS[self.arguments[0]]()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("foreread-command", Command)
    app.add_directive("foreread-list", List)
    app.add_directive("json-schemas", Schemas)
    # Before napoleon, which has priority 500.
    app.connect("autodoc-process-docstring", api.complete_docstring, priority=400)
    app.connect("autodoc-process-signature", api.short_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
