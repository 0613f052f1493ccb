"""The report's section of advice."""

from __future__ import annotations

import pytest

from foreread.analyzer.advise.document import AdviceDocument, AdviceRow
from foreread.analyzer.report.advice import advice
from foreread.analyzer.report.blocks import Bullets, Code, Paragraph, Table


def row(**changes):
    base = {
        "kind": "window",
        "what": "readahead window of 32 KiB",
        "seconds": 1.0,
        "saved": 0.5,
        "band": 0.01,
        "memory_bytes": -4096,
        "image_bytes": 0,
        "flash_bytes": 0,
        "effort": "one setting",
        "risk": "none that is known",
        "how": ["foreread script a -o b"],
        "measure": None,
        "trial": None,
        "lists": [],
        "ranges": [],
        "parts": [],
    }
    return AdviceRow(**{**base, **changes})


def document(*rows, notes=()):
    return AdviceDocument(
        command=["app"],
        recorded=None,
        kernel="6.18.0",
        model="linux-6.18.0",
        disk=None,
        read_ahead_kb=128,
        seconds=1.5,
        read_bytes=1 << 20,
        rows=list(rows),
        tried=1,
        notes=list(notes),
        doubts=[],
    )


def blocks(found, kind):
    return [block for block in advice(found).blocks if isinstance(block, kind)]


def test_without_advice_the_section_is_empty():
    assert advice(None).blocks == []


def test_nothing_found_is_said():
    (said,) = blocks(document(), Paragraph)
    assert "Nothing was found" in said.text
    assert blocks(document(), Table) == []


def test_rows_are_in_their_order_with_what_to_type_and_the_risk():
    found = document(row(), row(kind="list", what="prefetch list", flash_bytes=25_000))
    (table,) = blocks(found, Table)
    assert [cells[:2] for cells in table.rows] == [
        ["1", "readahead window of 32 KiB"],
        ["2", "prefetch list"],
    ]
    (code,) = blocks(found, Code)
    assert code.lines[:2] == ["# 1: none that is known", "foreread script a -o b"]


@pytest.mark.parametrize("hostile", ["a\x1b[31m", "\u202eb", "line\nbreak"])
def test_hostile_names_are_made_visible(hostile):
    found = document(row(what=hostile, risk=hostile, how=[hostile]), notes=[hostile])
    (table,), (code,), (notes,) = (blocks(found, kind) for kind in (Table, Code, Bullets))
    for text in (table.rows[0][1], *code.lines, *notes.items):
        assert text.isprintable(), text
