"""The difference as Markdown, for the comment or the summary of a pipeline.

Whatever a name holds becomes text: control characters are written as escapes, and what has a
meaning in Markdown or HTML as a character reference.
"""

from __future__ import annotations

from collections.abc import Iterator

from foreread.analyzer.diff.document import DiffDocument, DiffFile, StartDiff
from foreread.boards.base.printable import printable
from foreread.cli.text.diff import SHOWN_FILES, answer, cause_text, side_text, start_text, title

_MARKS = {ord(mark): f"&#{ord(mark)};" for mark in "\\`*_{}[]()<>#+!|~&\"'@$:"}


def quoted(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    return printable(text).translate(_MARKS)


def markdown_text(difference: DiffDocument) -> bytes:
    """Return the difference as Markdown, in UTF-8."""
    lines = [f"## foreread: {quoted(answer(difference))}", ""]
    for start in difference.starts:
        lines += _start(start)
    lines += [f"- only in OLD: {quoted(name)}" for name in difference.only_old]
    lines += [f"- only in NEW: {quoted(name)}" for name in difference.only_new]
    lines += [f"- note: {quoted(note)}" for note in difference.notes]
    return ("\n".join(lines).rstrip() + "\n").encode()


def _start(start: StartDiff) -> Iterator[str]:
    yield f"### {quoted(title(start))}"
    yield ""
    mark = {True: "regressed: ", False: "passed: ", None: ""}[start.regressed]
    yield f"**{quoted(mark + start_text(start))}**"
    yield ""
    yield f"- OLD {quoted(side_text(start.old))}"
    yield f"- NEW {quoted(side_text(start.new))}"
    yield from (f"- {quoted(cause_text(cause))}" for cause in start.causes)
    yield from (f"- doubt: {quoted(doubt)}" for doubt in start.doubts)
    yield ""
    if start.files:
        yield "| seconds | requests | pages | file | why |"
        yield "|---:|---:|---:|---|---|"
        yield from map(_row, start.files[:SHOWN_FILES])
        if len(start.files) > SHOWN_FILES:
            yield f"| | | | and {len(start.files) - SHOWN_FILES} more | |"
        yield ""


def _row(file: DiffFile) -> str:
    seconds = "" if file.seconds is None else f"{file.seconds:+.3f}"
    was = "" if file.was is None else f" (was <code>{quoted(file.was)}</code>)"
    cells = (
        seconds,
        f"{file.requests_new - file.requests_old:+,}",
        f"{file.pages_new - file.pages_old:+,}",
        f"<code>{quoted(file.path)}</code>{was}",
        quoted(file.why),
    )
    return f"| {' | '.join(cells)} |"
