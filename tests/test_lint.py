"""The checks of make lint that are the project's own report a bad sample, and fail."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / ".ci"
SAMPLES = {
    "words.py": {
        "README.md": "We foretell seconds.\n",
        "foreread/a.py": "raise E('the user is told')\n",
    },
    "links.py": {"README.md": "# Here\n[a](gone.md) [b](#gone) `[c](gone.md)` [d](#here)\n"},
    "house.py": {
        "foreread/README.md": "`gone.py` reads it; `core/` computes.\n",
        "foreread/unlisted.py": "import argparse\n",
        "foreread/core/a.c": '#include "b.h"\n',
        "foreread/core/b.h": '#include "a.h"\n',
    },
}
FOUND = {
    "words.py": ["README.md:1: 'foretell' -> predict", "foreread/a.py:1: 'told' -> reported"],
    "links.py": ["README.md: no such file: gone.md", "README.md: no such heading: #gone"],
    "house.py": [
        "foreread/README.md: names gone.py",
        "foreread/core/a.c: has no header",
        "foreread/core: includes form a circle",
        "foreread/unlisted.py: argparse below",
    ],
}


@pytest.mark.parametrize("script", SAMPLES)
def test_a_bad_sample_is_reported(script, tmp_path):
    for name, text in SAMPLES[script].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    done = subprocess.run(
        [sys.executable, SCRIPTS / script, "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    found = done.stdout.splitlines()
    for line, expected in zip(found, FOUND[script], strict=True):
        assert line.startswith(expected)
