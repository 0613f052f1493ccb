"""Runs the commands that the documentation shows, and writes their real output into the pages.

``python -m docs.tools.transcripts`` rewrites the pages, with ``--check`` it reports those that are
out of date. In a fence of the language ``console``, each line that begins with ``$`` is a command;
the lines after it are what it prints on standard output. All commands of a page run one after
the other in one folder, which has the checkout's ``examples``, the files of the shipped captures,
and the suite and all captures of the tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/tutorial/first-capture.md",
    "docs/tutorial/tune.md",
    "docs/howto/beside-a-load.md",
    "docs/howto/choose-storage.md",
    "docs/howto/kernel-patch.md",
    "docs/howto/kernel-upgrade.md",
    "docs/howto/many-starts.md",
    "docs/howto/with-little-memory.md",
    "studies/accuracy/patches.md",
)
_FENCE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class TranscriptError(RuntimeError):
    """A command of a page fails, or prints nothing."""


def refreshed(text: str) -> str:
    """Return the page with the output that its commands print now; raises TranscriptError."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "examples").symlink_to(ROOT / "examples")
        for name in ("python-start", "php-start"):
            for path in (ROOT / "examples" / name).glob(f"{name}.*"):
                (folder / path.name).symlink_to(path)
        (folder / "suite").symlink_to(ROOT / "tests/foreread/data/suite")
        (folder / "captures").symlink_to(ROOT / "tests/foreread/data")
        return _FENCE.sub(lambda match: _block(match[1], folder), text)


def _block(block: str, folder: Path) -> str:
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    shown = [f"$ {command}\n{_output(command, folder)}" for command in commands]
    return "```console\n" + "".join(shown) + "```"


def _output(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not done.stdout:
        raise TranscriptError(f"{command}: exit code {done.returncode}: {done.stderr}")
    lines = (line.rstrip() for line in done.stdout.splitlines())
    return "".join(f"{line}\n" for line in lines)


def main() -> int:
    """Rewrite the pages, or with --check name those that are out of date."""
    check = sys.argv[1:] == ["--check"]
    outdated = 0
    for name in PAGES:
        text = (ROOT / name).read_text()
        now = refreshed(text)
        if now != text and check:
            print(f"{name}: the output shown is out of date: python -m docs.tools.transcripts")
            outdated = 1
        elif now != text:
            (ROOT / name).write_text(now)
    return outdated


if __name__ == "__main__":
    sys.exit(main())
