"""Figures as SVG that can stand inside an HTML page."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

from matplotlib.figure import Figure

_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def inline_svg(figure: Figure, name: str) -> str:
    """Return ``figure`` as an ``<svg>`` element for an HTML page.

    Identifiers get the prefix ``name``, as several figures share a page; namespaces and metadata
    are left out, as HTML needs none. What is text in the figure is escaped text here.
    """
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(buffer.getvalue())  # matplotlib's own output, no outside input
    _drop_metadata(root)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {
            _local(key): _prefixed(_local(key), value, name) for key, value in element.items()
        }
    for size in ("width", "height"):
        root.attrib.pop(size)  # the page decides, viewBox keeps the proportions
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _drop_metadata(root: ElementTree.Element) -> None:
    for element in root.findall("{*}metadata"):
        root.remove(element)


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _prefixed(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href" and value.startswith("#"):
        return f"#{name}-{value[1:]}"
    return _REFERENCE.sub(rf"url(#{name}-\1)", value)
