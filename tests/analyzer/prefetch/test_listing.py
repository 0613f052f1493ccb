"""The text of prefetch lists: what is written is read, here and by the replayers."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prefetch_replayers import SHELLS, compiled, scripted
from property_tests import examples
from shells import DASH, each_shell
from waiting import left_s

from foreread.analyzer.prefetch.listing import (
    LARGEST_RANGE,
    MAGIC,
    MOST_OFFSET,
    MOST_RANGES,
    Listing,
    PrefetchError,
    Range,
    decode,
    encode,
    read_listing,
)

HEAD = f"{MAGIC}\nkernel 6.1\norder access\n".encode()
octets = st.binary(min_size=1, max_size=40).map(lambda b: b.replace(b"\0", b"\n"))
paths = octets.map(lambda name: "/" + name.decode(errors="surrogateescape"))
ranges = st.builds(Range, paths, st.integers(0, MOST_OFFSET - 1), st.integers(1, LARGEST_RANGE))
texts = octets.map(lambda text: text.decode(errors="surrogateescape"))
listings = st.builds(Listing, st.lists(ranges).map(tuple), texts, texts, texts, texts)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("replayer"))


def run(command, text):
    with tempfile.NamedTemporaryFile() as file:
        file.write(text)
        file.flush()
        words = [*command, file.name]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=left_s())


@given(listings)
def test_round_trip(listing):
    text = encode(listing)
    assert decode(text) == listing
    assert all(b" " <= bytes([octet]) <= b"~" or octet == 10 for octet in text)


def test_known_text():
    listing = Listing(
        (Range("/a b\n", 0, 4096), Range("/a b\n", 8192, 1), Range("/\udcff\\", 5, 6)),
        "6.1.0",
        "aarch64 Some Board",
        "$(rm)",
    )
    assert encode(listing) == (
        b"foreread-prefetch 1\n"
        b"kernel 6.1.0\n"
        b"board aarch64\\0040Some\\0040Board\n"
        b"capture $(rm)\n"
        b"order access\n"
        b"0 4096 /a\\0040b\\0012\n"
        b"8192 1\n"
        b"5 6 /\\0377\\0134\n"
    )
    assert listing.files == 2
    assert listing.size_bytes == 4103


@pytest.mark.parametrize(
    "bad",
    [
        Range("relative", 0, 1),
        Range("/nul\0", 0, 1),
        Range("/\ud800", 0, 1),
        Range("/" + 4095 * "a", 0, 1),
        Range("/a", -1, 1),
        Range("/a", 0, 0),
        Range("/a", 0, LARGEST_RANGE + 1),
        Range("/a", MOST_OFFSET, 1),
    ],
)
def test_lists_beyond_the_replayers_limits_are_not_written(bad):
    with pytest.raises(PrefetchError):
        encode(Listing((bad,)))


def test_a_list_too_large_for_the_replayers(monkeypatch):
    many = tuple(Range("/" + 4000 * "\n", at, 1) for at in range(2))
    assert len(encode(Listing(many))) > 20000
    with pytest.raises(PrefetchError, match="larger than 16,777,216 bytes"):
        decode(bytes((16 << 20) + 1))
    monkeypatch.setattr("foreread.analyzer.prefetch.listing.LARGEST_LIST", 20000)
    with pytest.raises(PrefetchError, match="more than 20,000"):
        encode(Listing(many))


@pytest.mark.thorough
def test_more_ranges_than_the_replayers_take(program, monkeypatch):
    """The program and the reader refuse a million lines at the same one."""
    full = HEAD + b"0 1 /none\n" + (MOST_RANGES - 1) * b"0 1\n"
    assert run(program, full).returncode == 0
    assert len(decode(full).ranges) == MOST_RANGES
    hostile = HEAD + b"0 1 /none\n" + 10**6 * b"0 1\n"
    line = full.count(b"\n") + 1
    with pytest.raises(PrefetchError, match=f"line {line}: more than {MOST_RANGES} ranges"):
        decode(hostile)
    assert f":{line}: more than {MOST_RANGES} ranges" in run(program, hostile).stderr
    monkeypatch.setattr("foreread.analyzer.prefetch.listing.MOST_RANGES", 1)
    assert encode(Listing((Range("/a", 0, 1),)))
    with pytest.raises(PrefetchError, match="2 ranges, more than 1") as error:
        encode(Listing((Range("/a", 0, 1), Range("/a", 2, 1))))
    assert "--pid" in error.value.remedy


@pytest.mark.parametrize("shell", each_shell(of=SHELLS))
def test_the_shell_counts_the_ranges_too(shell, tmp_path):
    command = scripted(shell)
    if not command:
        pytest.skip(f"{shell[0]} is not installed: the script was not run under it")
    text = Path(command[-1]).read_text()
    assert text.count(str(MOST_RANGES)) == 2
    script = tmp_path / "script"
    script.write_text(text.replace(f"-le {MOST_RANGES}", "-le 2"))
    full = HEAD + b"0 1 /none\n0 1\n"
    assert run([*command[:-1], str(script)], full).returncode == 0
    done = run([*command[:-1], str(script)], full + b"0 1\n")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert ":6: more than" in done.stderr


REFUSED = [
    (1, b""),
    (1, b"foreread-prefetch 2\n"),
    (1, b"foreread-prefetch 1"),
    (1, b"foreread-prefetch 1\r\n"),
    (4, HEAD + b"0 1\n"),
    (4, HEAD + b"0 1 relative\n"),
    (4, HEAD + b"0 1 \\0057a\\\n"),
    (4, HEAD + b"0 0 /a\n"),
    (4, HEAD + b"0 2097153 /a\n"),
    (4, HEAD + b"00 1 /a\n"),
    (4, HEAD + b"0 09 /a\n"),
    (4, HEAD + b"-1 1 /a\n"),
    (4, HEAD + b"+1 1 /a\n"),
    (4, HEAD + b"1 0x1 /a\n"),
    (4, HEAD + b"1000000000000000000 1 /a\n"),
    (4, HEAD + b"0 1 /a b\n"),
    (4, HEAD + b"0 1 /a\\b\n"),
    (4, HEAD + b"0 1 /a\\0c\n"),
    (4, HEAD + b"0 1 /a\\0/77\n"),
    (4, HEAD + b"0 1 /a\\0400\n"),
    (4, HEAD + b"0 1 /a\\0000\n"),
    (4, HEAD + b"0 1 /a\\\\0101\n"),
    (4, HEAD + b"0 1 /\xff\n"),
    (4, HEAD + b"0 1 /a\x1b\n"),
    (4, HEAD + b"\n"),
    (4, HEAD + b"$(reboot) 1 /a\n"),
    (4, HEAD + b"0 $((1)) /a\n"),
    (5, HEAD + b"0 1 /a\nkernel 6.1\n"),
    (5, HEAD + b"0 1 /a\n0 1"),
]


@pytest.mark.parametrize(("line", "text"), REFUSED)
def test_damaged_lists_are_refused_by_line(program, line, text):
    with pytest.raises(PrefetchError, match=f"line {line}: ") as error:
        decode(text)
    assert error.value.remedy
    done = run(program, text)
    assert (done.returncode, done.stdout) == (1, "")
    assert f":{line}: " in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("shell", each_shell(of=SHELLS))
@pytest.mark.parametrize(("line", "text"), REFUSED)
def test_the_shell_refuses_them_too(shell, line, text):
    command = scripted(shell)
    if not command:
        pytest.skip(f"{shell[0]} is not installed: the script was not run under it")
    done = run(command, text)
    assert (done.returncode, done.stdout) == (1, "")
    assert f":{line}: " in done.stderr
    assert done.stderr.count("\n") == 1


lines = st.one_of(
    st.binary(max_size=30),
    st.builds(
        b"%d %d%b".__mod__,
        st.tuples(
            st.integers(0, 99),
            st.integers(0, 9),
            st.sampled_from([b"", b" /x", b" /\\0040", b" y"]),
        ),
    ),
)


@settings(max_examples=examples(60))
@given(
    st.lists(lines, max_size=4).map(lambda some: b"0 1 /none\n" + b"".join(x + b"\n" for x in some))
)
def test_the_program_and_the_reader_agree(program, body):
    text = HEAD + body
    done = run(program, text)
    try:
        decode(text)
    except PrefetchError as error:
        line = str(error).split(":")[0].removeprefix("line ")
        assert f":{line}: " in done.stderr
        assert done.returncode == 1
    else:
        assert (done.returncode, done.stderr) == (0, "")


def test_a_file_that_is_not_a_list(tmp_path):
    path = tmp_path / "list"
    path.write_bytes(b"foreread-prefetch 1\n0 1 x\n")
    with pytest.raises(PrefetchError, match="list: line 2"):
        read_listing(path)
    path.write_bytes(encode(Listing((Range("/a", 0, 1),))))
    assert read_listing(path) == path.read_bytes()


@pytest.mark.parametrize("words", [[], ["-x"], ["a", "b"]])
def test_usage(program, words):
    done = subprocess.run([*program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "usage: foreread-prefetch LIST\n"


@pytest.mark.parametrize("place", ["/nowhere", "/", "/dev/zero"])
def test_a_list_that_is_not_a_file(program, place):
    for command in (program, scripted(DASH)):
        done = subprocess.run([*command, place], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1


def test_nothing_but_regular_files_is_opened(program, tmp_path):
    """A FIFO without a writer would hold whoever opens it; a link may lead anywhere."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/etc/passwd")
    places = (tmp_path / "fifo", tmp_path / "link", tmp_path, Path("/dev/full"))
    text = encode(Listing(tuple(Range(str(place), 0, 1) for place in places)))
    done = run(program, text)
    assert done.returncode == 0
    assert "0 KiB in 0 ranges, files opened 0 times; skipped 4" in done.stdout
    assert run(scripted(DASH), text).returncode == 0
