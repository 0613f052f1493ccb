"""The probes for a target's kernel, in the format of its script."""

from __future__ import annotations

from pathlib import Path

from foreread.boards.base.scratch import scratch_folder
from foreread.boards.target import Target
from foreread.tracer.error import RecordError
from foreread.tracer.probes import FAULT, MAP, OPEN, READ, ProbeError, ProbePlan, plan
from foreread.tracer.remote.machine import Machine

_BTF = "/sys/kernel/btf/vmlinux"
# Not needed where the kernel has this event. The path of an open is better taken in the kernel:
# the caller's string, which an event probe reads, may not be in memory yet.
_INSTEAD_OF = {
    FAULT: "filemap:mm_filemap_fault",
    READ: "filemap:mm_filemap_get_pages",
    MAP: "-",
    OPEN: "-",
}


def plan_probes(target: Target, machine: Machine) -> ProbePlan:
    """Return the probes for the target's kernel; raises RecordError if they are unknown."""
    try:
        return plan(machine.kernel, machine.machine, _btf(target))
    except ProbeError as error:
        raise RecordError(str(error), error.remedy) from error


def lines(probes: ProbePlan) -> str:
    """Return lines NAME EVENT BODY, as add_probes of probes.sh reads them."""
    return "\n".join(f"{name} {_INSTEAD_OF[name]} {body}" for name, body in probes.bodies.items())


def _btf(target: Target) -> bytes | None:
    """Return the kernel's BTF, some megabytes; None where it has none."""
    with scratch_folder("btf") as scratch:
        copy = Path(scratch) / "vmlinux"
        try:
            target.pull(_BTF, copy)
        except FileNotFoundError:
            return None
        return copy.read_bytes()
