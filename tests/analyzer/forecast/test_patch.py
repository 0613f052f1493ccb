"""Files of rules: what is read, what is refused with which remedy, and the file that is printed."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.forecast.patch import (
    Patch,
    PatchError,
    decode_patch,
    read_patch,
    template,
    written,
)
from foreread.emulator.linux.rules import (
    CHANGES,
    NEWEST_READ,
    Algorithm,
    Rules,
    WithinMapping,
    rules_for,
    values_of,
    version_text,
)

ROOT = Path(__file__).parents[3]
SHIPPED = sorted((ROOT / "examples/rules").glob("*.toml"))
RULES = [rule.name for rule in fields(Rules)]
BASES = [*dict.fromkeys(version_text(change.since) for change in CHANGES)]


def decoded(change, base='"7.2"'):
    return decode_patch(f"base = {base}\n[change]\n{change}\n".encode())


def test_a_patch_is_a_kernel_with_other_rules():
    patch = decoded('algorithm = "STRAY"\nruns_apart = false\nmapped_folio_kb = 64')
    assert patch.base == (7, 2)
    expected = replace(
        rules_for((7, 2)), algorithm=Algorithm.STRAY, runs_apart=False, mapped_folio_kb=64
    )
    assert patch.rules == expected
    assert patch.changed() == [
        ("algorithm", "SPLIT", "STRAY"),
        ("runs_apart", True, False),
        ("mapped_folio_kb", 0, 64),
    ]
    assert decoded("xarray = false", '"linux-5.10.3"').base == (5, 10, 3)


def test_the_shipped_files_name_their_source_and_change_one_rule_each():
    assert [path.name for path in SHIPPED] == ["mapped-folios.toml", "within-mapping.toml"]
    for path in SHIPPED:
        patch = read_patch(path)
        assert patch.base == (7, 2)
        assert "2026" in patch.source
        assert patch.path == str(path)
        assert len(patch.changed()) == 1
    assert read_patch(SHIPPED[1]).rules.within_mapping == WithinMapping.ALL


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ('base = "7.2"\n[change]\nmap_folio_kb = 4', "is it mapped_folio_kb?", "--print-rules"),
        ('base = "7.2"\n[change]\nnonsense = 4', "'nonsense' is not a rule", "linux-7.2"),
        ('base = "7.2"\n[change]\nxarray = 1', "xarray: 1 is not a value", "false, true"),
        ('base = "7.2"\n[change]\nxarray = "no"', '"no" is not a value', "false, true"),
        ('base = "7.2"\n[change]\nxarray = [1]', "xarray: a list is not a value", "false, true"),
        ('base = "7.2"\n[change]\nforced = 2', "2 is not a value", '"WINDOW"'),
        (f'base = "7.2"\n[change]\nforced = "{"x" * 99}"', "xxx is not a value", '"IO"'),
        ('base = "7.2"\n[change]\nforced = "io"', '"io" is not a value', '"IO"'),
        ('base = "7.2"\n[change]\nmapped_folio_kb = true', "true is not a value", "0, 4, 8, 16"),
        ('base = "7.2"\n[change]\nmapped_folio_kb = 5', "5 is not a value", "0, 4, 8, 16"),
        ('base = "7.2"\n[change]\nmapped_folio_kb = 4096', "4096 is not a value", "2048"),
        ('base = "7.2"\n[change]\nmapped_folio_kb = -4', "-4 is not a value", "2048"),
        ('base = "7.2"\n[change]\nxarray = true', "no rule that differs", "--print-rules"),
        ('base = "7.2"\n[change]\n', "no rule that differs from Linux 7.2", "linux-7.2"),
        ('base = "99.1"\n[change]\n', "the rules of Linux 99.1 are unknown", "2.6.11 to 7.3"),
        ('base = "2.4"\n[change]\n', "the readahead of Linux 2.4 is unknown", "2.6.11 to"),
        ('base = "new"\n[change]\n', "'new' is not a kernel release", "2.6.11 to"),
        ("base = 7.2\n[change]\n", "Expected `str`, got `float`", "section Rules"),
        ('base = "7.2"\n', "missing required field `change`", "section Rules"),
        ("[change]\nxarray = false", "missing required field `base`", "section Rules"),
        ('base = "7.2"\nrule = 1\n[change]\n', "unknown field `rule`", "section Rules"),
        ('base = "7.2"\nchange = 1', "Expected `object`, got `int`", "section Rules"),
        ("base = ", "Invalid value", "section Rules"),
        ("\0", "Invalid", "section Rules"),
    ],
)
def test_a_wrong_file_is_refused_with_a_remedy(tmp_path, text, message, remedy):
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(PatchError, match=re.escape(message)) as caught:
        read_patch(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert remedy in caught.value.remedy


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(PatchError, match="No such file"):
        read_patch(tmp_path / "absent.toml")
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (1 << 20))
    with pytest.raises(PatchError):
        read_patch(large)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_patch_or_refused(data):
    try:
        patch = decode_patch(data)
    except PatchError as error:
        assert error.remedy
    else:
        assert isinstance(patch, Patch)


@pytest.mark.parametrize("base", BASES)
def test_the_printed_file_has_every_rule_of_the_kernel(base):
    text = template(f"linux-{base}")
    with pytest.raises(PatchError, match="no rule that differs") as caught:
        decode_patch(text.encode())
    command = shlex.split(caught.value.remedy.partition(": ")[2])
    assert command == ["foreread", "forecast", "--print-rules", f"linux-{base}"]
    for name in RULES:
        assert len(re.findall(rf"^{name} = ", text, re.MULTILINE)) == 1, name


@pytest.mark.parametrize("name", RULES)
def test_each_value_that_is_printed_is_one_that_is_read(name):
    (line,) = re.findall(rf"^{name} = .*", template("6.12"), re.MULTILINE)
    shown = line.partition("  # ")[2].partition("; ")[0].split(", ")
    read = [decoded(f"{name} = {text}", '"6.12"').rules for text in shown if _differs(name, text)]
    assert len(shown) == len(values_of(name)) == len(read) + 1
    assert {getattr(rules, name) for rules in read} <= set(values_of(name))


def _differs(name, text):
    present = written(getattr(rules_for((6, 12)), name))
    return text.strip('"') != str(present if isinstance(present, str) else str(present).lower())


def test_a_printed_file_with_one_line_edited_is_a_patch():
    newest = version_text(NEWEST_READ)
    text = re.sub(r"(?m)^within_mapping = \S+", 'within_mapping = "CODE"', template(newest))
    assert decode_patch(text.encode()).changed() == [("within_mapping", "NONE", "CODE")]
