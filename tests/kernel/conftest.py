"""The machine is after the kernel tests as it was before them."""

import time

import pytest
from json_outputs import checked_documents  # noqa: F401  (an autouse fixture)
from machine_state import differences, state

SETTLED_S = 20.0  # guards of jobs that were cut off put things back when they notice it


@pytest.fixture(scope="module", autouse=True)
def as_before(tmp_path_factory):
    """Fail a module that leaves a mount, a knob, a loop device, a group or a trace instance."""
    own = tmp_path_factory.getbasetemp()
    before = state(own)
    yield
    end = time.monotonic() + SETTLED_S
    while (left := differences(before, state(own))) and time.monotonic() < end:
        time.sleep(0.2)
    assert not left, "these tests left the machine different:\n" + "\n".join(left)
