"""The loads of `foreread tune --scenario`, as clients: what their programs do (load.sh)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from foreread.analyzer.load.client import Client, Load
from foreread.analyzer.load.error import LoadError
from foreread.analyzer.predict.memory import LEAST_PAGES, own_kib, own_pages
from foreread.analyzer.predict.start import Start
from foreread.boards.base.units import KIB, MIB, pages_to_kib, parse_kib, size_text
from foreread.emulator.linux.steps import CpuCost
from foreread.tracer.formats.capture import Device, Mount, dev_text

KINDS = ("idle", "reader", "writer", "memory")
# Computing of a call, of a page that it copies or moves, and of a new program, which begins a file
# again: on x86_64 at 3 GHz, where a page read costs _READ_NS; others are slower in proportion.
_CALL_NS, _PAGE_NS, _MOVED_NS, _PROGRAM_NS = 2e3, 420.0, 74.0, 3e6
_READ_NS = 500.0
_PAGE = 4 * KIB
# Bytes of a call. GNU's cat reads 128 KiB; busybox's has sendfile(2) move the pages of 16 MiB to
# /dev/null, in pipes of 64 KiB (splice_direct_to_actor, fs/splice.c).
_DIRECT, _CAT, _OTHER_CAT, _WRITE = 128 * KIB, 128 * KIB, 64 * KIB, 64 * KIB
_WRITTEN = 4 * MIB  # between two fsync
_OWN_UNKNOWN = (
    "the capture does not say how much memory the program itself takes: only its files, and the "
    "kernel's memory for them, are counted; record again to have the program counted"
)
_SWAP = (
    "the machine of the recording has swap, which is not emulated: where memory lacks, its kernel "
    "also moves the program's own memory to the disk and back; to measure what is predicted, "
    "switch it off: swapoff -a"
)
_MEMORY = (
    "how much memory that load leaves to the start is unknown: say how much with --memory, such as "
    "--memory 24M"
)


def load_of_scenario(text: str, start: Start | None = None) -> Load:
    """Return the load of a scenario: idle, reader, reader:FILE, writer, writer:FOLDER, memory.

    With ``memory:24M`` the start has so much memory for its program and its files; without a
    unit it is the load that fills all memory but so many MiB.
    ``start`` is the start that it is to run beside: its processor, and its disk. Raises LoadError
    for an unknown name.
    """
    kind, _, rest = text.partition(":")
    if kind not in KINDS or (kind == "idle" and rest):
        raise LoadError(
            f"{text!r} is not a load",
            "use idle, reader, reader:FILE, writer, writer:FOLDER, memory:24M, or a capture of a "
            "load",
        )
    if kind in ("reader", "writer") and rest and not rest.startswith("/"):
        raise LoadError(f"{rest!r} is not an absolute path", f"write {kind}:/PATH")
    if kind == "memory":
        if not rest or rest.isdecimal():
            return Load(text, unpredicted=_MEMORY)
        return _with_memory(text, rest, start)
    if kind == "idle":
        return Load(text)
    elsewhere = _elsewhere(rest, start)
    if elsewhere:
        return Load(text, notes=(elsewhere,))
    cpu = start.cpu if start is not None else CpuCost()
    client = _writer(cpu) if kind == "writer" else _reader(rest, cpu, start)
    return Load(text, (client,), tuple(_notes(client, start)))


def _with_memory(text: str, size: str, start: Start | None) -> Load:
    """Return the condition ``text``: so much memory."""
    try:
        kib = parse_kib(size)
    except ValueError as error:
        raise LoadError(f"{text!r} is not a load: {error}", "write memory:24M") from error
    if start is None:
        return Load(text, memory_kib=kib)
    page_size, own = start.recording.page_size, int(own_pages(start).max(initial=0))
    if kib * KIB // page_size - own < LEAST_PAGES:
        own_size = size_text(pages_to_kib(own, page_size) * KIB)
        why = (
            f"the program, and the kernel for its files, take {own_size}: too little is left for "
            "files"
        )
        return Load(text, unpredicted=why, memory_kib=kib)
    notes = [] if own_kib(start) else [_OWN_UNKNOWN]
    if _swaps(start):
        notes.append(_SWAP)
    return Load(text, notes=tuple(notes), memory_kib=kib)


def _swaps(start: Start) -> bool:
    """Return whether the recorded start could swap."""
    memory = start.recording.capture.memory
    if memory is None or not memory.swaps:
        return False
    return memory.group is None or memory.group.swap_kib != 0


def _reader(path: str, cpu: CpuCost, start: Start | None) -> Client:
    """``dd iflag=direct bs=128k`` of the disk, or ``cat FILE`` (load.sh)."""
    call = Client(size=_DIRECT, think_ns=_slowness(cpu) * _CALL_NS + cpu.request_ns)
    device = _device(start)
    if not path or (device is not None and path == f"/dev/{device.name}"):
        return call
    sequential = _cat_is_sequential(start) is not False
    size, page_ns = (_CAT, _PAGE_NS) if sequential else (_OTHER_CAT, _MOVED_NS)
    think_ns = _passed_on(cpu, size, page_ns) + cpu.page_ns * (size // _PAGE)
    return replace(call, cached=True, sequential=sequential, size=size, think_ns=think_ns)


def _writer(cpu: CpuCost) -> Client:
    """``dd bs=64k count=64 conv=fsync``, again and again (load.sh)."""
    written_ns = _WRITTEN // _WRITE * _passed_on(cpu, _WRITE, _PAGE_NS)
    think_ns = _slowness(cpu) * _PROGRAM_NS + written_ns
    return Client(write=True, cached=True, size=_WRITE, think_ns=think_ns, burst_bytes=_WRITTEN)


def _passed_on(cpu: CpuCost, size: int, page_ns: float) -> float:
    """Return the computing (ns) of a call that passes on ``size`` bytes of the page cache."""
    return _slowness(cpu) * (_CALL_NS + size // _PAGE * page_ns)


def _slowness(cpu: CpuCost) -> float:
    return max(cpu.page_ns / _READ_NS, 1.0)


def _cat_is_sequential(start: Start | None) -> bool | None:
    """Return whether the machine's cat asks for sequential reading; None if that is unknown."""
    host = start.recording.capture.host if start is not None else None
    return None if host is None else host.sequential_cat


def _notes(client: Client, start: Start | None) -> Iterator[str]:
    if client.write:
        yield f"the load writes {client.burst_bytes // MIB} MiB, then waits for the disk"
    elif client.cached and _cat_is_sequential(start) is None:
        yield (
            "the capture does not say which cat reads the file: GNU's is assumed, which asks for "
            "twice the window"
        )


def _elsewhere(path: str, start: Start | None) -> str:
    """Return a note if a path is on another disk than the start; empty if it may be on that."""
    device = _device(start)
    if start is None or device is None or not path:
        return ""
    mount = _mount_of(path, start.recording.capture.mounts)
    below = mount is not None and mount.mountpoint.startswith("/dev/")
    if path.startswith("/dev/") and not below:
        other = path.removeprefix("/dev/")
        return "" if other.startswith(device.name) else _no_effect(path, other)
    if mount is None or mount.dev == device.dev or mount.dev in device.filesystems:
        return ""
    return _no_effect(path, mount.source)


def _no_effect(path: str, disk: str) -> str:
    return f"{path} is on another disk ({disk}): the load has no effect on the start's reads"


def _mount_of(path: str, mounts: list[Mount]) -> Mount | None:
    """Return the mount that a path is in, as far as the capture lists it."""
    above = [mount for mount in mounts if f"{path}/".startswith(f"{mount.mountpoint.rstrip('/')}/")]
    return max(above, key=lambda mount: len(mount.mountpoint), default=None)


def _device(start: Start | None) -> Device | None:
    """Return what the capture has of the start's disk."""
    if start is None:
        return None
    dev = dev_text(start.disk)
    return next((device for device in start.recording.capture.devices if device.dev == dev), None)
