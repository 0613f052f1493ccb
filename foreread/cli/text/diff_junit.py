"""The difference as JUnit XML: a test case for each start, which fails above the limit."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from foreread.analyzer.diff.document import DiffDocument, StartDiff
from foreread.boards.base.printable import printable
from foreread.cli.text.diff import SHOWN_FILES, answer, cause_text, side_text, start_text, title


def junit_xml(difference: DiffDocument) -> bytes:
    """Return the difference as JUnit XML, in UTF-8."""
    total = _case(
        "all starts", answer(difference), bool(difference.regressed), difference.seconds_new
    )
    cases = [_of_start(start) for start in difference.starts] + (
        [total] if len(difference.starts) > 1 else []
    )
    failed = sum(case.find("failure") is not None for case in cases)
    numbers = {"tests": str(len(cases)), "failures": str(failed), "errors": "0"}
    suite = ElementTree.Element("testsuite", {"name": "foreread diff", **numbers})
    suite.extend(cases)
    root = ElementTree.Element("testsuites", numbers)
    root.append(suite)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, "utf-8", xml_declaration=True)
    return text + b"\n"


def _of_start(start: StartDiff) -> ElementTree.Element:
    case = _case(title(start), start_text(start), bool(start.regressed), start.new.seconds)
    output = ElementTree.SubElement(case, "system-out")
    output.text = "\n".join(printable(line) for line in _lines(start))
    return case


def _case(name: str, message: str, failed: bool, seconds: float | None) -> ElementTree.Element:
    # XML has no way to write a control character: printable() leaves none.
    names = {"classname": "foreread.diff", "name": printable(name)}
    case = ElementTree.Element("testcase", {**names, "time": f"{seconds or 0.0:.3f}"})
    if failed:
        ElementTree.SubElement(
            case, "failure", {"message": printable(message), "type": "regression"}
        )
    return case


def _lines(start: StartDiff) -> Iterator[str]:
    yield start_text(start)
    yield f"OLD {side_text(start.old)}"
    yield f"NEW {side_text(start.new)}"
    yield from map(cause_text, start.causes)
    for file in start.files[:SHOWN_FILES]:
        seconds = "" if file.seconds is None else f"{file.seconds:+.3f} s, "
        requests = f"requests {file.requests_new - file.requests_old:+,}"
        yield f"{file.path}: {seconds}{requests}: {file.why}"
    yield from (f"doubt: {doubt}" for doubt in start.doubts)
