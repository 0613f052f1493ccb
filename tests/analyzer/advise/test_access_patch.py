"""Patches of real sources: they apply, they compile, they run, and doubt is an error."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.advise.access_lines import constant_of, lines_of, name_of
from foreread.analyzer.advise.access_patch import PatchError, patch_of

C_SOURCE = """\
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

/* open("not me", 0); */
int main(int argc, char **argv)
{
\tconst char *text = "mmap(";
\tint fd = open(argc > 1 ? argv[1] : "(", /* ) */
\t              O_RDONLY);
\tvoid *at = mmap(NULL, 4096 * (size_t)argc, PROT_READ, MAP_PRIVATE, fd, 0);

\tprintf("%d %d %s\\n", fd >= 0, at != MAP_FAILED, text);
\treturn 0;
}
"""
PYTHON_SOURCE = '''\
"""A program."""
from __future__ import annotations
import mmap
import sys

def main():
    with open(sys.argv[1], "rb") as file:
        data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        print(data[0])

main()
'''


def patched(tmp_path, name, text, call, pattern="random"):
    source = tmp_path / name
    source.write_text(text)
    patch = patch_of(source, call, pattern)
    subprocess.run(["patch", "-p1", "--fuzz=0"], input=patch, cwd=tmp_path, check=True)
    return source


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("fadvise", "\t(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);\n\tvoid *at"),
        ("madvise", "\t(void)madvise(at, 4096 * (size_t)argc, MADV_RANDOM);\n\n\tprintf"),
    ],
)
@pytest.mark.parametrize(("name", "compiler"), [("own.c", "cc"), ("own.cpp", "c++")])
def test_c_is_patched_and_runs(tmp_path, call, line, name, compiler):
    source = patched(tmp_path, name, C_SOURCE, call)
    assert line in source.read_text()
    program = tmp_path / "own"
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-o", program, source], check=True)
    done = subprocess.run([program, source], capture_output=True, text=True, check=True)
    assert done.stdout == "1 1 mmap(\n"


@pytest.mark.parametrize("call", ["fadvise", "madvise"])
def test_python_is_patched_and_runs(tmp_path, call):
    source = patched(tmp_path, "own.py", PYTHON_SOURCE, call, "sequential")
    text = source.read_text()
    assert f"{constant_of(call, 'sequential')})" in text
    assert ("import os" in text) == (call == "fadvise")
    words = [sys.executable, str(source), str(source)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "34\n"


def test_tabs_stay_tabs(tmp_path):
    text = "import os, sys\ndef main():\n\twith open(sys.argv[1]) as file:\n\t\tprint(1)\nmain()\n"
    source = patched(tmp_path, "own.py", text, "fadvise")
    assert (
        "\n\t\tos.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)\n" in source.read_text()
    )
    subprocess.run([sys.executable, str(source), str(source)], check=True)


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_every_end_of_a_line_is_patched(tmp_path, end):
    text = f"import os\n# \f\u2028\nfile = open(__file__){end}"
    source = tmp_path / "own.py"
    source.write_text(text, newline="")
    patch = patch_of(source, "fadvise", "random")
    subprocess.run(["patch", "-p1", "--binary"], input=patch, cwd=tmp_path, check=True)
    subprocess.run([sys.executable, str(source)], check=True)
    assert source.read_text().splitlines()[-1].startswith("os.posix_fadvise(file.fileno()")


UNDECIDED = {
    "old.py": "import os\ra = open('x')\r",
    "one_line.py": "import os\nif 1: a = open('x')\n",
    "two.c": "int f(void)\n{\n\tint a = open(x, 0);\n\tint b = open(y, 0);\n}\n",
    "tested.c": "int f(void)\n{\n\tif ((fd = open(x, 0)) < 0)\n\t\treturn 1;\n}\n",
    "unbraced.c": "int f(void)\n{\n\tif (x)\n\t\tfd = open(x, 0);\n\tg();\n}\n",
    "several.c": "int f(void)\n{\n\tint fd = open(x, 0), y = 1;\n}\n",
    "open.c": "int f(void)\n{\n\tint fd = open(x,\n",
    "other.c": "int f(void)\n{\n\tit->open(x, 0);\n\tfoo = reopen(1);\n}\n",
    "two.py": "a = open('x')\nb = open('y')\n",
    "unnamed.py": "import os\nprint(open('x').read())\n",
    "alone.py": "a = open('x')\n",
    "broken.py": "def\n",
    "own.rs": "fn main() { let file = File::open(path)?; }\n",
}


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_only_a_reader_can_decide_is_refused(tmp_path, name):
    source = tmp_path / name
    source.write_text(UNDECIDED[name])
    with pytest.raises(PatchError) as refused:
        patch_of(source, "fadvise", "random")
    assert name in str(refused.value)
    assert refused.value.remedy


def test_an_error_names_the_lines(tmp_path):
    source = tmp_path / "two.c"
    source.write_text(UNDECIDED["two.c"])
    with pytest.raises(PatchError, match="see line 3, 4"):
        patch_of(source, "fadvise", "random")


def test_files_that_are_no_source_are_refused(tmp_path):
    with pytest.raises(PatchError, match="gone"):
        patch_of(tmp_path / "gone.c", "fadvise", "random")
    with pytest.raises(PatchError):
        patch_of(tmp_path, "fadvise", "random")
    (tmp_path / "octets.c").write_bytes(b"\xff\0int fd = open(\n" * 3)
    with pytest.raises(PatchError):
        patch_of(tmp_path / "octets.c", "fadvise", "random")


@given(st.text("\r(){};=\n\t\"'/*\\, aopenfd0", max_size=60), st.sampled_from([".c", ".py"]))
def test_any_text_is_patched_or_refused(tmp_path_factory, text, suffix):
    source = tmp_path_factory.mktemp("any") / f"any{suffix}"
    source.write_text(text, newline="")
    try:
        patch = patch_of(source, "fadvise", "random")
    except PatchError:
        return
    assert patch.count(b"posix_fadvise") == 1


def test_lines_name_the_constant_and_cannot_be_broken_by_a_name():
    for call in ("fadvise", "madvise"):
        text = lines_of("/a\n\x1b[2J\udcff", call, "random", "shim.so").decode()
        assert text.startswith(f"{constant_of(call, 'random')} for ")
        assert "/a??[2J?" in text.splitlines()[0]
        assert all(language in text for language in ("C, C++", "Rust", "Python", "Java"))
    assert name_of("fadvise", "random", "/a/../b\n.db") == "fadvise-random-a_b_db.txt"


def test_python_lines_run_as_they_are_written(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes(9000))
    for call in ("fadvise", "madvise"):
        text = lines_of(str(path), call, "sequential", "shim.so").decode()
        line = text.split("Python", 1)[1].split("\n\n")[1].strip()
        program = (
            "import mmap, os\n"
            f"file = open({str(path)!r}, 'rb')\n"
            "map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n"
            f"{line}\n"
        )
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
