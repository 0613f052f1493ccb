"""Board profiles: those that ship, hostile ones, and the writer against the reader."""

import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.boards.cost import Calibration, CostPoint, FixedCost, MeasuredCost, PacedCost
from foreread.boards.profile import (
    Profile,
    ProfileError,
    Storage,
    builtin_names,
    decode_profile,
    load_profile,
    profile_name,
    read_profile,
)
from foreread.boards.profile_toml import encode_profile

SMALLEST = 'schema = 1\nname = "a"\ntitle = "A"\nmeasured_here = false\n'
DISK = SMALLEST + '[[storage]]\nkind = "eMMC"\n'


def cost(lines):
    return DISK + "[storage.cost]\n" + lines


@pytest.mark.parametrize("name", builtin_names())
def test_a_shipped_profile_is_sound_and_says_where_it_is_from(name):
    profile = load_profile(name)
    assert profile.name == name
    assert profile.measured_here or profile.sources
    obtained = {disk.cost.obtained for disk in profile.storage if disk.cost}
    assert profile.measured_here or obtained <= {"published", "assumed"}
    assert decode_profile(encode_profile(profile).encode(), name) == profile


def test_the_boards_of_the_paper_and_the_emulated_ones_ship():
    assert {"dtv-x260", "mvl2443", "omap5912osk"} <= set(builtin_names())
    assert {"x86_64", "arm64", "armhf", "mipsel", "loop"} <= set(builtin_names())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing required field `schema`"),
        (SMALLEST + "colour = 1", "unknown field `colour`"),
        (SMALLEST.replace("1", "2"), r"\$\.schema"),
        (SMALLEST.replace('"a"', '"../a"'), r"\$\.name"),
        (SMALLEST.replace('"a"', '"a\\n"'), r"\$\.name"),
        (SMALLEST + "[memory]\nsize_mb = 1", r"unknown field `size_mb` - at `\$\.memory`"),
        (SMALLEST + "[memory]\nsize_mib = -1", r"\$\.memory\.size_mib"),
        (SMALLEST + "[memory]\nsize_mib = 1.5", r"\$\.memory\.size_mib"),
        (SMALLEST + "[memory]\nsize_mib = 99999999999999999999", r"\$\.memory\.size_mib"),
        (DISK + "read_ahead_kb = true", r"\$\.storage\[0\]\.read_ahead_kb"),
        (DISK + "[[storage]]\nsize_mib = 1", r"missing required field `kind` - at `\$\.storage\[1"),
        (cost('model = "magic"'), r"\$\.storage\[0\]\.cost\.model"),
        (cost('model = "fixed"\nobtained = "guessed"'), r"\$\.storage\[0\]\.cost\.obtained"),
        (cost('model = "paced"\nobtained = "set"'), r"requests_per_second or.*\$\.storage\[0\]\.c"),
        (
            cost('model = "fixed"\nobtained = "set"\nlatency_us = nan\nns_per_kib = 1'),
            r"\$\.storage\[0\]\.cost\.latency_us",
        ),
        (
            cost('model = "fixed"\nobtained = "set"\nlatency_us = 1\nns_per_kib = inf'),
            r"\$\.storage\[0\]\.cost\.ns_per_kib",
        ),
        (cost('model = "measured"\nobtained = "measured"\npoints = []'), r"\.cost\.points"),
        (
            cost(
                'model = "measured"\nobtained = "measured"\n'
                "points = [{request_kib = 8, latency_us = 1}, {request_kib = 4, latency_us = 1}]"
            ),
            r"must rise.*\$\.storage\[0\]\.cost",
        ),
        (SMALLEST + '[transport]\nkind = "pigeon"', r"\$\.transport\.kind"),
        ("x = " + "[" * 100_000, "F"),
        ("name = 'a", "F"),
    ],
)
def test_a_bad_profile_is_refused_with_its_path(text, message):
    with pytest.raises(ProfileError, match=message) as refused:
        decode_profile(text.encode(), "F")
    assert str(refused.value).startswith("F: ")
    assert refused.value.remedy


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda s: s.encode())))
def test_any_bytes_are_a_profile_or_a_profile_error(data):
    for whole in (data, SMALLEST.encode() + data, DISK.encode() + data):
        try:
            assert isinstance(decode_profile(whole, "F"), Profile)
        except ProfileError as error:
            assert error.remedy


anything = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
microseconds = st.floats(min_value=0, max_value=1e12)
rates = st.floats(min_value=1e-9, max_value=1e12)
shares = st.floats(0, 1)
calibrations = st.builds(
    Calibration,
    date=anything,
    kernel=anything,
    tool=anything,
    device=anything,
    error_median=shares,
    error_worst=shares,
)
origin = {"obtained": st.just("measured"), "band": shares, "calibration": calibrations}
costs = st.one_of(
    st.builds(FixedCost, **origin, latency_us=microseconds, ns_per_kib=microseconds),
    st.builds(PacedCost, **origin, requests_per_second=rates, slice_ms=st.just(100.0)),
    st.builds(
        MeasuredCost,
        **origin,
        points=st.builds(
            CostPoint,
            request_kib=st.just(4.0),
            sequential=st.booleans(),
            latency_us=rates,
            occupancy_us=rates,
        ).map(lambda point: [point]),
    ),
)
storages = st.builds(
    Storage,
    kind=anything,
    name=anything,
    size_mib=st.integers(0, 1 << 53),
    file_systems=st.lists(anything, max_size=3),
    cost=costs,
)


@given(title=anything, notes=st.lists(anything, max_size=3), storage=st.lists(storages, max_size=3))
def test_written_data_read_back_unchanged(title, notes, storage):
    profile = Profile(
        schema=1, name="a", title=title, measured_here=True, notes=notes, storage=storage
    )
    text = encode_profile(profile)
    assert tomllib.loads(text) == msgspec.to_builtins(profile)
    assert decode_profile(text.encode(), "F") == profile


def test_undecodable_bytes_are_written_as_replaced():
    profile = Profile(schema=1, name="a", title="x\udcffy", measured_here=True)
    assert decode_profile(encode_profile(profile).encode(), "F").title == "x\ufffdy"


def test_files_and_names_that_are_not_there(tmp_path):
    for missing in ("nope", "../nope", str(tmp_path / "nope.toml"), str(tmp_path), "x\n.toml"):
        with pytest.raises(ProfileError) as refused:
            load_profile(missing)
        assert "boards list" in refused.value.remedy


def test_a_file_without_end_is_not_read_whole():
    with pytest.raises(ProfileError, match="not a regular file"):
        read_profile(Path("/dev/zero"))


def test_a_file_is_found_by_its_path(tmp_path):
    (tmp_path / "mine.toml").write_text(DISK)
    assert load_profile(str(tmp_path / "mine.toml")).storage[0].kind == "eMMC"


@given(st.text(max_size=100))
def test_any_text_makes_a_profile_name(text):
    name = profile_name(text)
    assert decode_profile(SMALLEST.replace('"a"', f'"{name}"').encode(), "F").name == name
