"""Partitions of a store: harmless names, no two alike, whatever a capture says."""

from pathlib import PurePosixPath

import pytest
from capture_builder import capture_of, host_of
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.fleet import names
from foreread.tracer.formats.capture import Boot

HOSTILE = ["../../etc", "a/b", "a=b", "", ".", "..", ".hidden", "-o", "\udc80", "Grün", "a\0b", "'"]


@given(st.text())
def test_a_slug_is_one_harmless_part_of_a_path(text):
    assert names.SLUG.fullmatch(names.slug(text))
    assert PurePosixPath(names.slug(text)).parts == (names.slug(text),)


@given(st.lists(st.text(max_size=80), unique=True, max_size=20))
def test_different_texts_have_different_slugs(texts):
    assert len({names.slug(text) for text in texts}) == len(texts)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_become_partitions_that_the_store_accepts(text):
    capture = capture_of(host=host_of(nodename=text), command=[text, text])
    assert names.SLUG.fullmatch(names.board_slug(capture.host))
    assert names.SLUG.fullmatch(names.start_slug(capture))


def test_a_plain_name_stays_as_it_is():
    assert names.slug("board-7.lab_2") == "board-7.lab_2"
    assert names.start_slug(capture_of(command=["app"])) == "app"


def test_no_board_is_called_as_the_partition_of_unread_captures():
    assert names.slug(names.UNREAD) != names.UNREAD


def test_two_machines_of_one_name_are_two_boards():
    one, two = host_of(nodename="board"), host_of(nodename="board", machine="aarch64")
    assert names.board_slug(one) != names.board_slug(two)
    assert names.board_slug(one).startswith("board-")


def test_a_new_kernel_leaves_the_board_and_changes_the_build():
    one, two = host_of(nodename="board"), host_of(nodename="board", kernel="7.2.0")
    assert names.board_slug(one) == names.board_slug(two)


def test_a_start_is_its_whole_command():
    one, two = (capture_of(command=["/usr/bin/app", word]) for word in ("a", "b"))
    assert names.start_slug(one) != names.start_slug(two)
    assert names.start_slug(one).startswith("app-")


def test_programs_of_one_name_in_two_folders_are_two_starts():
    one, two = (capture_of(command=[path]) for path in ("/a/app", "/b/app"))
    assert names.start_slug(one) != names.start_slug(two)


def test_a_boot_is_a_start():
    boot = Boot(processes=[1], read_before=[])
    assert names.start_slug(capture_of(boot=boot, command=["init"])) == "boot"


def test_a_digest_separates_its_parts():
    assert names.digest("ab", "c") != names.digest("a", "bc")
    assert len(names.digest("a")) == 32
