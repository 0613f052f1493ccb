"""The sources that Python looks up before it reads compiled modules."""

import pytest

from foreread.analyzer.layout.module_sources import source_of, sources


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("/usr/lib/python3/a/__pycache__/b.cpython-311.pyc", "/usr/lib/python3/a/b.py"),
        ("/a/__pycache__/b.cpython-311.opt-2.pyc", "/a/b.py"),
        ("/a/__pycache__/b.c.cpython-311.pyc", "/a/b.c.py"),
        ("/a/b.pyc", None),
        ("/a/__pycache__/b.py", None),
        ("/a/__pycache__/c/b.cpython-311.pyc", None),
    ],
)
def test_the_source_of_a_compiled_module_is_beside_its_cache(path, source):
    assert source_of(path) == source


def test_modules_without_a_source_in_the_image_have_none():
    rows = {"/a/b.py": 1, "/a/__pycache__/b.cpython-311.pyc": 2, "/a/__pycache__/c.pypy39.pyc": 3}
    assert sources(rows) == {2: 1}
