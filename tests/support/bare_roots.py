"""Scripts of .ci that build and test in bare roots of Debian."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NO_ROOT = 125  # .ci/bare's exit status where no bare root can be made


def run_ci(name: str, *words: str | Path) -> None:
    """Run a script of .ci; skip where no bare root can be made, fail if it fails."""
    if os.geteuid() != 0:
        pytest.skip("needs root: nothing was built or installed in a bare root")
    command = [ROOT / ".ci" / name, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == NO_ROOT:
        pytest.skip(f"this machine makes no bare root: {done.stderr.strip()[-300:]}")
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
