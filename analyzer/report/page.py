"""The HTML page: one file, no network; a script of its own only where the page recomputes."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from foreread.analyzer.report.blocks import Figure, Section
from foreread.analyzer.report.live.page import LivePage
from foreread.analyzer.report.svg import inline_svg
from foreread.boards.base.printable import printable

HERE = Path(__file__).parent


def render(
    title: str,
    subtitle: str,
    sections: list[Section],
    version: str,
    live: LivePage | None = None,
) -> str:
    """Return the page as text that UTF-8 can encode; call it within ``style.drawing``.

    With ``live`` the page recomputes where it can run scripts.
    """
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_seen,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        title=title,
        subtitle=subtitle,
        sections=sections,
        version=version,
        css=Markup(_css(live)),  # ours, and no place for outside text
        live=live,
        drawings=_drawings(sections),
    )


def _css(live: LivePage | None) -> str:
    files = [HERE / "report.css"] + [HERE / "live/live.css"] * (live is not None)
    return "\n".join(file.read_text() for file in files)


def _seen(value: object) -> object:
    """Make text that an expression puts out printable; ``Markup`` is made by this module alone."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _drawings(sections: list[Section]) -> dict[str, Markup]:
    plots = [b.plot for section in sections for b in section.blocks if isinstance(b, Figure)]
    return {plot.name: Markup(inline_svg(plot.figure, plot.name)) for plot in plots}
