"""Each module of kernel tests leaves nothing of its own on the machine."""

import os

import pytest
from json_outputs import checked_documents  # noqa: F401  (an autouse fixture)
from machine_lock import nobody_records
from machine_state import differences, state, watched
from waiting import wait_until


@pytest.fixture(scope="module", autouse=True)
def as_before(tmp_path_factory):
    """Fail a module that leaves a mount, a knob, a loop device, a group or a trace instance."""
    if os.geteuid() != 0:
        yield  # an ordinary user's tests make nothing of it
        return
    with watched(tmp_path_factory.getbasetemp()) as run:
        with nobody_records():
            before = state(run)
        yield
        # Guards put back what jobs that were killed left.
        wait_until(lambda: not not_as(run, before), lambda: "\n".join(not_as(run, before)))


def not_as(run, before):
    with nobody_records():
        return differences(run, before)
