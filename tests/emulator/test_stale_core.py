"""A C core that was built from other sources than the Python around it."""

import subprocess
import sys

import pytest

IMPORT = """
from foreread.emulator import _linux
{change}
import foreread.emulator.linux.windows
"""


OTHER_SOURCES = {
    "older": "del _linux.INSERT_BYTES, _linux.RULES, _linux.NUMBERS",
    "longer records": "_linux.INSERT_BYTES += 8",
    "a rule less": "_linux.RULES = _linux.RULES.partition('\\n')[2]",
    "rules in another order": "lines = _linux.RULES.splitlines(True)\n"
    "_linux.RULES = ''.join([lines[1], lines[0], *lines[2:]])",
    "values in another order": "_linux.RULES = _linux.RULES.replace("
    "'LX_MERGE_NONE, LX_MERGE_WHOLE', 'LX_MERGE_WHOLE, LX_MERGE_NONE')",
    "a rule of another name": "_linux.RULES = _linux.RULES.replace('xarray:', 'radix_tree:')",
    "numbers in another order": "_linux.NUMBERS = _linux.NUMBERS.replace("
    "'page_size\\nio_pages', 'io_pages\\npage_size')",
}


@pytest.mark.parametrize("change", OTHER_SOURCES.values(), ids=OTHER_SOURCES)
def test_a_core_of_other_sources_is_refused_with_the_command_that_builds_it(change):
    command = [sys.executable, "-c", IMPORT.format(change=change)]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    assert run.returncode == 1
    assert "built from other sources: run `make setup`" in run.stderr


def test_a_core_of_these_sources_is_taken():
    done = subprocess.run([sys.executable, "-c", IMPORT.format(change="")], check=False)
    assert done.returncode == 0
