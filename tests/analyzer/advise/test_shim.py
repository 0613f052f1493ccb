"""The preload shim: it advises what its list names, in real programs, and does nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from advice_shim import SHIM, built, run, spy
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.advise.document import TrialAdvice
from foreread.analyzer.advise.shim_list import LARGEST_LIST, list_of, shim_source

SIZE = 9000
COMPLAINT = b"foreread-advice: cannot use the list of FOREREAD_ADVICE\n"
MOST_LINES = 150
_MAPS = "import mmap, sys; f = open(sys.argv[1], 'rb'); m = mmap.mmap(f.fileno(), 0, prot=1); m[5]"


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shim")
    return [built(folder), spy(folder)]


@pytest.fixture
def place(tmp_path):
    """A file, with a function that runs a command with advice, and returns what was advised."""

    class Place:
        file = tmp_path / "data"

        def run(self, libraries, words, *advice, **more):
            listing, spied = tmp_path / "list", tmp_path / "spied"
            listing.write_bytes(
                list_of([TrialAdvice(call, how, str(path)) for call, how, path in advice])
            )
            spied.write_bytes(b"")
            done = run(words, libraries, listing, SPIED=str(spied), **more)
            assert (done.returncode, done.stderr) == (0, b"")
            return spied.read_text().splitlines()

    Place.file.write_bytes(os.urandom(SIZE))
    return Place()


def dd(path):
    return ["dd", f"if={path}", "of=/dev/null", "bs=4096", "status=none"]


def python(path):
    """The interpreter itself: what stands before it in PATH may be a script."""
    return [os.path.realpath(sys.executable), "-S", "-c", _MAPS, str(path)]


@pytest.mark.parametrize(("how", "number"), [("normal", 0), ("random", 1), ("sequential", 2)])
def test_dd_s_descriptor_is_advised(libraries, place, how, number):
    given_advice = place.run(libraries, dd(place.file), ("fadvise", how, place.file))
    assert given_advice == [f"fadvise 0 {number}"]


@pytest.mark.parametrize(("how", "number"), [("normal", 0), ("random", 1), ("sequential", 2)])
def test_python_s_mapping_is_advised(libraries, place, how, number):
    given_advice = place.run(libraries, python(place.file), ("madvise", how, place.file))
    assert given_advice == [f"madvise {SIZE} {number}"]


def test_descriptors_and_mappings_are_advised_apart(libraries, place):
    both = [("madvise", "sequential", place.file), ("fadvise", "random", place.file)]
    assert place.run(libraries, python(place.file), *both) == ["fadvise 0 1", f"madvise {SIZE} 2"]


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="needs sqlite3: it was not advised")
def test_sqlite_s_reads_and_mappings_are_advised(libraries, place, tmp_path):
    database = tmp_path / "data.db"
    table = "create table t(a); insert into t values (randomblob(20000));"
    subprocess.run(["sqlite3", database, table], check=True)
    words = ["sqlite3", database, "pragma mmap_size = 1000000; select sum(length(a)) from t"]
    both = [("fadvise", "random", database), ("madvise", "random", database)]
    kinds = [line.split()[::2] for line in place.run(libraries, words, *both)]
    assert ["fadvise", "1"] in kinds
    assert ["madvise", "1"] in kinds


@pytest.mark.parametrize("name", ["two words", "quote'\"$(x)`y`", "\udcff\\0101*[a]", "tab\there"])
def test_hostile_names_are_recognised(libraries, place, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(bytes(SIZE))
    assert place.run(libraries, dd(path), ("fadvise", "random", path)) == ["fadvise 0 1"]


def test_other_files_are_not_advised(libraries, place, tmp_path):
    """Neither names that begin or end alike, nor a file that is gone, nor a folder."""
    longer, folder = tmp_path / "data2", tmp_path / "folder"
    longer.write_bytes(bytes(SIZE))
    folder.mkdir()
    others = [longer, f"{place.file}/", tmp_path / "gone", folder, "/a", place.file.parent]
    advice = [("fadvise", "random", path) for path in others]
    assert place.run(libraries, dd(place.file), *advice) == []
    assert place.run(libraries, ["ls", "-l", folder], ("madvise", "random", place.file)) == []


def test_a_link_leads_to_the_file_that_is_listed(libraries, place, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(place.file)
    assert place.run(libraries, dd(link), ("fadvise", "random", place.file)) == ["fadvise 0 1"]


def test_a_statically_linked_program_is_not_advised(libraries, place, tmp_path):
    source, program = tmp_path / "own.c", tmp_path / "own"
    source.write_text(
        "#include <fcntl.h>\nint main(int n, char **of) { return n < 2 || open(of[1], 0) < 0; }\n"
    )
    for words, expected in ((["-static"], []), ([], ["fadvise 0 1"])):
        subprocess.run(["cc", *words, "-o", program, source], check=True)
        advised = place.run(libraries, [program, place.file], ("fadvise", "random", place.file))
        assert advised == expected


def test_without_a_list_nothing_is_done_or_said(libraries, place, tmp_path):
    spied = tmp_path / "spied"
    spied.write_bytes(b"")
    done = run(dd(place.file), libraries, None, SPIED=str(spied))
    assert (done.returncode, done.stderr, spied.read_bytes()) == (0, b"", b"")


def test_errors_and_modes_of_open_stay(libraries, place, tmp_path):
    text = (
        "import os, sys\n"
        "try: os.open('/gone/x', os.O_RDONLY)\n"
        "except OSError as error: assert error.errno == 2\n"
        "os.umask(0)\n"
        "os.close(os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o640))\n"
        "assert os.stat(sys.argv[1]).st_mode & 0o7777 == 0o640\n"
    )
    words = [os.path.realpath(sys.executable), "-S", "-c", text, str(tmp_path / "made")]
    assert place.run(libraries, words, ("fadvise", "random", place.file)) == []


HOSTILE = [
    b"",
    b"foreread-advice 2\nfadvise random /a\n",
    b"foreread-advice 1",
    b"foreread-advice 1\nfadvise random /a",
    b"foreread-advice 1\nfadvise random relative\n",
    b"foreread-advice 1\nfadvise willneed /a\n",
    b"foreread-advice 1\nfadvise random /a\0b\n",
    b"foreread-advice 1\n\n",
    b"foreread-advice 1\nfadvise random /" + b"x" * (64 << 10) + b"\n",
]


def said(libraries, path):
    done = run(["true"], libraries[:1], path)
    assert done.returncode == 0
    return done.stderr


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_list_that_is_not_whole_is_refused(libraries, tmp_path, text):
    path = tmp_path / "hostile"
    path.write_bytes(text)
    assert said(libraries, path) == COMPLAINT


def test_a_list_that_is_no_file_is_refused_without_waiting(libraries, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert {said(libraries, tmp_path / name) for name in ("gone", ".", "pipe")} == {COMPLAINT}


def test_the_largest_list_is_used(libraries, tmp_path, place):
    line = b"fadvise random /" + b"x" * 4000 + b"\n"
    head, tail = b"foreread-advice 1\n", f"fadvise random {place.file}\n".encode()
    text = head + line * ((LARGEST_LIST - len(head) - len(tail)) // len(line)) + tail
    assert LARGEST_LIST - len(line) < len(text) <= LARGEST_LIST
    listing, spied = tmp_path / "largest", tmp_path / "spied"
    listing.write_bytes(text)
    spied.write_bytes(b"")
    done = run(dd(place.file), libraries, listing, SPIED=str(spied))
    assert (done.stderr, spied.read_text()) == (b"", "fadvise 0 1\n")


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """The shim with sanitizers; their library comes first."""
    folder = tmp_path_factory.mktemp("checked")
    flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    asan = subprocess.run(
        ["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    return [os.path.realpath(asan.stdout.strip()), built(folder, *flags), spy(folder)]


@pytest.mark.thorough
def test_real_programs_are_clean_under_sanitizers(checked, place):
    options = {"ASAN_OPTIONS": "detect_leaks=0"}
    both = [("madvise", "random", place.file), ("fadvise", "random", place.file)]
    assert place.run(checked, dd(place.file), *both, **options) == ["fadvise 0 1"]
    advised = place.run(checked, python(place.file), *both, **options)
    assert advised == ["fadvise 0 1", f"madvise {SIZE} 1"]


@given(st.lists(st.sampled_from([b"fadvise ", b"madvise ", b"random ", b"normal ", b"/a", b"\n"])))
def test_no_list_breaks_a_program(checked, tmp_path_factory, words):
    path = tmp_path_factory.mktemp("any") / "list"
    path.write_bytes(b"foreread-advice 1\n" + b"".join(words))
    done = run(["true"], checked[:2], path, ASAN_OPTIONS="detect_leaks=0")
    assert (done.returncode, done.stderr) in ((0, b""), (0, COMPLAINT))


@pytest.mark.parametrize("flags", [(), ("-D_FORTIFY_SOURCE=2", "-D_FILE_OFFSET_BITS=64")])
def test_it_builds_for_glibc(tmp_path, flags):
    assert built(tmp_path, *flags).exists()


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="needs musl-tools: not built for musl")
def test_it_builds_for_musl_and_advises_there(tmp_path, place):
    source, program = tmp_path / "own.c", tmp_path / "own"
    source.write_text(
        "#include <stdio.h>\n#include <string.h>\n#include <sys/mman.h>\n#include <fcntl.h>\n"
        "int main(int n, char **of) { char line[999]; int rr = 0;\n"
        "  if (n < 2) return 2;\n"
        "  void *at = mmap(0, 9000, PROT_READ, MAP_PRIVATE, open(of[1], O_RDONLY), 0);\n"
        '  FILE *maps = fopen("/proc/self/smaps", "r");\n'
        "  while (fgets(line, sizeof line, maps))\n"
        '    rr += !strncmp(line, "VmFlags", 7) && strstr(line, " rr ") != NULL;\n'
        '  printf("%d\\n", rr); return at == MAP_FAILED; }\n'
    )
    subprocess.run(["musl-gcc", "-o", program, source], check=True)
    library = built(tmp_path, compiler="musl-gcc")
    listing = tmp_path / "list"
    listing.write_bytes(list_of([TrialAdvice("madvise", "random", str(place.file))]))
    done = run([program, place.file], [library], listing)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1\n", b"")


def test_it_is_short_and_is_what_advise_writes():
    text = SHIM.read_bytes()
    assert text.count(b"\n") <= MOST_LINES
    assert shim_source() == text


def test_a_list_cannot_name_everything():
    for path in ("/new\nline", "relative", "/" + "x" * 5000):
        with pytest.raises(ValueError, match="cannot name"):
            list_of([TrialAdvice("fadvise", "random", path)])
    with pytest.raises(ValueError, match="more than"):
        list_of([TrialAdvice("fadvise", "random", f"/{'x' * 4000}")] * 20)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no set-user-ID program was run")
def test_a_set_user_id_program_is_not_advised(libraries):
    """The loader takes no library from the user; the same program without the bit is advised."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        source, program, spied = folder / "own.c", folder / "own", folder / "spied"
        source.write_text(
            '#include <fcntl.h>\nint main(void) { return open("/etc/passwd", 0) < 0; }\n'
        )
        subprocess.run(["cc", "-o", program, source], check=True)
        listing = folder / "list"
        listing.write_bytes(list_of([TrialAdvice("fadvise", "random", "/etc/passwd")]))
        own = [Path(shutil.copy(library, folder)) for library in libraries]
        for mode, expected in ((0o755, "fadvise 0 1\n"), (0o4755, "")):
            program.chmod(mode)
            spied.write_bytes(b"")
            spied.chmod(0o666)
            words = ["setpriv", "--reuid=65534", "--clear-groups", program]
            done = run(words, own, listing, SPIED=str(spied))
            assert (done.returncode, spied.read_text()) == (0, expected)
