"""The calling convention of each machine's kernel, in the syntax of probe definitions."""

from __future__ import annotations

from dataclasses import dataclass

from foreread.tracer.probes.error import ProbeError


@dataclass(frozen=True)
class Convention:
    """The first five arguments of a function at its entry, and the bits of a ``long``.

    ``danger`` is a known risk of probes on such a machine, or empty.
    """

    arguments: tuple[str, str, str, str, str]
    long_bits: int
    danger: str = ""


def _registers(names: str, long_bits: int, danger: str = "") -> Convention:
    first, second, third, fourth, fifth = names.split()
    return Convention((first, second, third, fourth, fifth), long_bits, danger)


# Seen on 6.1 (4kc-malta, QEMU): after some thousand hits under memory pressure the breakpoint that
# ends a single step finds no kprobe running (arch/mips/kernel/kprobes.c).
_MIPS = "kernel probes have brought down a MIPS kernel (Break instruction in kernel code)"


# By machine (uname -m). Registers rather than $argN, which needs 4.20, and not on 32-bit ARM and
# MIPS. Names: regs_query_register_offset in arch/*/kernel/ptrace.c; the calls are those of each
# machine's ABI: AAPCS, o32 (which keeps room for four arguments on the stack), n64, SysV.
_CONVENTIONS = {
    "x86_64": _registers("%di %si %dx %cx %r8", 64),
    "aarch64": _registers("%x0 %x1 %x2 %x3 %x4", 64),
    "mips64": _registers("%r4 %r5 %r6 %r7 %r8", 64, _MIPS),
    "riscv64": _registers("%a0 %a1 %a2 %a3 %a4", 64),
    "s390x": _registers("%r2 %r3 %r4 %r5 %r6", 64),
    "mips": _registers("%r4 %r5 %r6 %r7 $stack4", 32, _MIPS),
    "armv5tel": _registers("%r0 %r1 %r2 %r3 $stack0", 32),
    "armv6l": _registers("%r0 %r1 %r2 %r3 $stack0", 32),
    "armv7l": _registers("%r0 %r1 %r2 %r3 $stack0", 32),
}


def convention_of(machine: str) -> Convention:
    """Return the convention of ``machine`` (uname -m); raises ProbeError if it is unknown."""
    convention = _CONVENTIONS.get(machine)
    if convention is None:
        raise ProbeError(
            f"probes are not known for the machine {machine!r}",
            f"record without probes; known are {', '.join(sorted(_CONVENTIONS))}",
        )
    return convention
