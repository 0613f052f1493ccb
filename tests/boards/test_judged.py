"""The user's list of judged kernels, and those of a profile."""

import pytest
from judgements import judged_of

from foreread.boards.judged import (
    JudgedError,
    judged_kernels,
    list_path,
    prepare_list,
    store,
    with_judged,
)
from foreread.boards.profile import decode_profile, with_judgement
from foreread.boards.profile_toml import encode_profile

PROFILE = b'schema = 1\nname = "mine"\ntitle = "Mine"\nmeasured_here = true\n'


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_there_is_no_list_at_first():
    assert judged_kernels() == []


def test_what_is_stored_is_read_back_and_a_later_judgement_replaces_it():
    first, other = judged_of(), judged_of(release="5.10.1")
    for one in (first, other):
        assert store(one) == list_path()
    again = judged_of(result="different", difference="step 3", date="2026-12-01")
    store(again)
    assert judged_kernels() == [other, again]


def test_the_list_keeps_the_newest():
    many = [judged_of(release=f"6.1.{number}") for number in range(300)]
    kept = with_judged(many, judged_of())
    assert len(kept) == 200
    assert kept[-2:] == [many[-1], judged_of()]


@pytest.mark.parametrize("text", ["", "{}", '{"schema": 1, "kernels": [1]}', "[" * 10_000])
def test_a_damaged_list_is_an_error_that_names_it(text):
    list_path().parent.mkdir(parents=True)
    list_path().write_text(text)
    with pytest.raises(JudgedError, match=r"judged-kernels\.json") as caught:
        judged_kernels()
    assert str(list_path()) in caught.value.remedy


def test_a_directory_in_its_place_is_an_error():
    list_path().mkdir(parents=True)
    with pytest.raises(JudgedError, match="directory"):
        judged_kernels()


def test_a_profile_takes_judgements():
    profile = decode_profile(PROFILE, "here")
    for one in (judged_of(), judged_of(file_system="xfs"), judged_of(date="2027-01-01")):
        profile = with_judgement(profile, one)
    read = decode_profile(encode_profile(profile).encode(), "here")
    assert read == profile
    assert read.kernel.release == "6.18.0"
    assert [(one.file_system, one.date) for one in read.kernel.judged] == [
        ("xfs", "2026-11-23"),
        ("ext4", "2027-01-01"),
    ]


def test_a_list_that_cannot_be_written_is_noticed_beforehand(monkeypatch):
    prepare_list()
    assert list_path().parent.is_dir()
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/self")
    with pytest.raises(OSError, match="foreread"):
        prepare_list()
