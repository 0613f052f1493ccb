"""A C core that was built from other sources than the Python around it."""

import subprocess
import sys

import pytest

IMPORT = """
from emulator import _linux
{change}
import emulator.linux.windows
"""


@pytest.mark.parametrize("change", ["del _linux.INSERT_BYTES", "_linux.INSERT_BYTES += 8"])
def test_a_core_of_other_sources_is_refused_with_the_command_that_builds_it(change):
    command = [sys.executable, "-c", IMPORT.format(change=change)]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    assert run.returncode == 1
    assert "built from other sources: run `make setup`" in run.stderr


def test_a_core_of_these_sources_is_taken():
    done = subprocess.run([sys.executable, "-c", IMPORT.format(change="")], check=False)
    assert done.returncode == 0
