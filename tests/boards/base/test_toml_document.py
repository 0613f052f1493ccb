"""TOML from anywhere: what would keep tomllib busy is refused before tomllib gets it."""

import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foreread.boards.base import toml_document
from foreread.boards.base.bounded import UnboundedError
from foreread.boards.base.document import DocumentError
from foreread.boards.base.toml_document import LARGEST_BYTES, parse_toml, read_toml

LONG = "a." * 50_000
# Those of 100 KB took tomllib a minute and gigabytes, or raised a RecursionError or a ValueError
# of Python's limit on digits.
HOSTILE = {
    "dotted key": (f"{LONG}a = 1", "more than 32 levels"),
    "spaced dots": ("a . " * 50_000 + "a = 1", "more than 32 levels"),
    "quoted dotted key": ('"a".' * 50_000 + "a = 1", "more than 32 levels"),
    "quotes in a quoted dotted key": (r'"\"".' * 40_000 + "a = 1", "more than 32 levels"),
    "literal dotted key": ("'a'." * 50_000 + "a = 1", "more than 32 levels"),
    "dotted header": (f"[{LONG}a]", "more than 32 levels"),
    "dotted header of an array": (f"[[{LONG}a]]", "more than 32 levels"),
    "dotted key in an inline table": (f"a = {{{LONG}a = 1}}", "more than 32 levels"),
    "dotted key after five quotes": (f'a = """x"""""\n{LONG}a = 1', "at line 2"),
    "dotted key after a comment": (f'# "\n{LONG}a = 1', "at line 2"),
    "dotted key after a literal": (f"a = '\"'\n{LONG}a = 1", "at line 2"),
    "nested arrays": ("a = " + "[" * 100_000, "more than 32 levels"),
    "nested inline tables": ("a = " + "{a = " * 50_000, "more than 32 levels"),
    "number": ("a = " + "1" * 100_000, "a word of 100000 characters"),
    "hexadecimal number": ("a = 0x" + "f" * 100_000, "a word of 100002 characters"),
    "key": ("a" * 100_000 + " = 1", "a word of 100000 characters"),
    "size": ("#\n" * LARGEST_BYTES, "larger than the 256 KiB"),
    "unclosed string": ("a = '''" + "''x" * 50_000, "end of document"),
    "not text": ("a = '\0'", "line 1"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_toml_is_refused_with_its_line_deep_and_endless_words_unparsed(kind, monkeypatch):
    text, message = HOSTILE[kind]
    if any(word in message for word in ("levels", "a word", "line 2")):
        monkeypatch.setattr(toml_document.tomllib, "loads", lambda *_: pytest.fail("was parsed"))
    with pytest.raises(DocumentError, match=message) as error:
        parse_toml(text.encode())
    assert len(str(error.value)) < 400


KEY = st.sampled_from(["a", "b-c", '"q.r"', "'l.m'", '"\\""', "'\"'"])
VALUE = st.sampled_from(
    [
        "1",
        "1.5",
        "1979-05-27T07:32:00.5Z",
        "[1, [2.5]]",
        "{x.y = 1}",
        '"a#b"',
        "'[[[['",
        '"""x"y""z"""',
        '"""""x"""""',
        "'''a''b'''''",
        '"""\\""""',
        "true",
    ]
)
LINE = st.one_of(
    st.builds(
        "{} = {} # [[{{ \" ' {}".format,
        st.lists(KEY, min_size=1, max_size=3).map(".".join),
        VALUE,
        KEY,
    ),
    st.lists(KEY, min_size=1, max_size=3).map(lambda keys: f"[{'.'.join(keys)}]"),
    st.just(""),
)


@given(st.lists(LINE, max_size=6).map("\n".join))
@example('a = """""x"""""\nb = 1')
def test_shallow_toml_is_read_as_tomllib_reads_it(text):
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(DocumentError):
            parse_toml(text.encode())
    else:
        assert parse_toml(text.encode()) == expected


@given(st.text("ab.\"'[]{}=,#\\ \n1", max_size=40))
def test_any_text_is_read_as_tomllib_reads_it_or_refused(text):
    try:
        found = parse_toml(text.encode())
    except DocumentError as error:
        assert str(error)
    else:
        assert found == tomllib.loads(text)


@given(VALUE, st.sampled_from(["", "\n[t]\n", "\nk = [\n# '\n]\n"]))
def test_a_deep_key_is_found_after_any_value(value, between):
    with pytest.raises(DocumentError, match="more than 32 levels"):
        parse_toml(f"v = {value}{between}\n{LONG}a = 1".encode())


def test_a_file_is_read_up_to_the_limit(tmp_path):
    file = tmp_path / "profile.toml"
    file.write_bytes(b"#" * LARGEST_BYTES)
    assert len(read_toml(file, "")) == LARGEST_BYTES
    file.write_bytes(b"#" * (LARGEST_BYTES + 1))
    with pytest.raises(UnboundedError, match="256 KiB") as error:
        read_toml(file, "give a profile")
    assert error.value.remedy == "give a profile"
