"""JSON from anywhere: texts that are not documents are refused, with little memory."""

import json
import os
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.boards.base.document import (
    Document,
    DocumentError,
    decode,
    encode,
    parse,
    read_document,
)
from foreread.boards.error import BoardsError

MIB = 1 << 20
# Each would take gigabytes, or minutes.
BOMBS = {
    "empty lists": lambda: b"[" + b"[]," * (8 * MIB) + b"1]",
    "objects": lambda: b"[" + b'{"":0},' * (4 * MIB) + b"1]",
    "numbers": lambda: b"[" + b"1.5," * (10 * MIB) + b"1]",
    "strings": lambda: b"[" + b'"ab",' * (8 * MIB) + b"1]",
    "open lists": lambda: b"[" * (8 * MIB),
}


class Plain(Document, frozen=True, kw_only=True):
    names: tuple[str, ...] = ()
    count: int = 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"[1e999]", "the number 1e999 is not finite"),
        (b"[-1e999]", "not finite"),
        (b"[NaN]", "NaN is not a number"),
        (b"[Infinity]", "Infinity is not a number"),
        (b"[-Infinity]", "-Infinity is not a number"),
        (b"[" + b"9" * 1_000_000 + b"]", "more than 64 bits"),
        (b"[18446744073709551616]", "more than 64 bits"),
        (b"[-9223372036854775809]", "more than 64 bits"),
        (b'{"a": 1, "b": 2, "a": 3}', "the name 'a' is twice"),
        (b'["\\ud800"]', "a surrogate that stands for no byte"),
        (b'{"\\udfff": 1}', "a surrogate that stands for no byte"),
        (b'["\xed\xa0\x80"]', "can't decode byte"),
        (b"\xef\xbb\xbf[]", "Expecting value"),
        ("[]".encode("utf-16"), "can't decode byte"),
        (b"", "Expecting value"),
        (b"[] []", "Extra data"),
    ],
)
def test_what_is_not_strict_json_is_refused_with_the_reason(text, message):
    with pytest.raises(DocumentError, match=message) as error:
        parse(text)
    assert len(str(error.value)) < 400


def test_the_limits_of_64_bits_and_undecodable_bytes_are_read():
    assert parse(b"[18446744073709551615, -9223372036854775808]") == [2**64 - 1, -(2**63)]
    assert parse(b'["\\udc80", "\\ud83d\\ude00"]') == ["\udc80", "\U0001f600"]


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_json_writes_is_read_as_json_reads_it(value):
    text = json.dumps(value).encode()
    assert parse(text) == json.loads(text)


@given(st.binary(max_size=60) | st.text('[]{}:,"\\0123456789.eE+-u dcNaInfity', max_size=60))
def test_any_text_is_read_or_refused(text):
    data = text if isinstance(text, bytes) else text.encode()
    try:
        parse(data)
    except DocumentError as error:
        assert str(error)
    else:
        json.loads(data)


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_text_of_too_many_values_is_refused_before_any_is_made(bomb):
    code = (
        "import resource, sys; from foreread.boards.base.document import parse, DocumentError\n"
        "text = sys.stdin.buffer.read()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (512 << 20,) * 2)\n"
        "try: parse(text)\n"
        "except DocumentError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=BOMBS[bomb](), capture_output=True, check=True
    )
    assert b"more values than foreread reads" in done.stdout


def test_wrong_types_are_refused_with_their_place():
    with pytest.raises(DocumentError, match=r"\$\.names\[1\]"):
        decode(b'{"names": ["a", 1]}', Plain)
    with pytest.raises(DocumentError, match="Expected `object`"):
        decode(b"[]", Plain)


def test_control_characters_are_escaped_in_json():
    text = encode(Plain(names=("\x7f\x1b\x9b\u202e\n",)))
    assert text.isascii() and text.isprintable()
    assert decode(text.encode(), Plain).names == ("\x7f\x1b\x9b\u202e\n",)


@pytest.mark.parametrize(
    ("content", "text", "remedy"),
    [
        (b'{"count": 3', "/document: Expecting", "give another"),
        (b"[]", "/document: Expected", "give another"),
        (b'{"schema": 2}', "/document has schema 2", "update foreread"),
        (None, "/document: No such file", "give another"),
        (1 << 40, "/document .*64 MiB", "give another"),
    ],
    ids=["text", "kind", "schema", "missing", "large"],
)
def test_a_file_that_is_no_document_is_an_error_of_its_reader(tmp_path, content, text, remedy):
    file = tmp_path / "document"
    if isinstance(content, int):
        file.touch()
        os.truncate(file, content)
    elif content is not None:
        file.write_bytes(content)
    with pytest.raises(BoardsError, match=text) as error:
        read_document(file, Plain, BoardsError, "give another")
    assert error.value.remedy == remedy


def test_a_document_is_read_from_a_file(tmp_path):
    file = tmp_path / "document"
    file.write_bytes(b'{"count": 3}')
    assert read_document(file, Plain, BoardsError, "") == Plain(count=3)


def test_a_file_that_is_not_there_may_stand_for_a_document(tmp_path):
    file, absent = tmp_path / "document", Plain(count=9)
    assert read_document(file, Plain, BoardsError, "", absent) == absent
    file.mkdir()
    with pytest.raises(BoardsError, match="a directory"):
        read_document(file, Plain, BoardsError, "", absent)


def test_an_error_does_not_repeat_a_long_value():
    class Strict(msgspec.Struct, forbid_unknown_fields=True):
        pass

    text = json.dumps({"x" * 100_000: 1}).encode()
    with pytest.raises(DocumentError) as error:
        decode(text, Strict)
    assert len(str(error.value)) < 400
