"""The kernel's reset rules are the same on this machine and on a target: knobs.py, knobs.sh."""

import re
import subprocess
from importlib import resources
from types import SimpleNamespace

import pytest
from shells import each_shell

from foreread.tracer.runs import knobs

QUEUE = "/sys/block/sda/queue"
LIBRARY = (resources.files("foreread.tracer.remote") / "knobs.sh").read_text()


class WithoutTunables:
    """A target whose scheduler has none."""

    def run(self, _command):
        return SimpleNamespace(stdout=b"")


def attributes():
    """The attributes for which either of the two has a rule, and two without one."""
    rules = LIBRARY.partition("reset_with() {")[2].partition("}")[0]
    found = set(re.findall(r"\*/queue/(\w+)", rules))
    assert found
    return sorted({*found, *knobs._RESETS, "read_ahead_kb", "iostats"})


@pytest.mark.parametrize("shell", each_shell())
@pytest.mark.parametrize("attribute", attributes())
def test_a_target_resets_what_this_machine_resets(shell, attribute):
    knob = f"{QUEUE}/{attribute}"
    script = f'{LIBRARY}\nreset_with "$1"\nprintf "%s\\n" $reset\n'
    command = [*shell, "-c", script, "sh", knob]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split() == knobs.goes_with(WithoutTunables(), knob)
