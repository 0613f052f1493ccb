"""Probes a disk of this machine in a child process, which joins the command's cgroup."""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import stat
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from foreread.boards.base.guard import die_with_parent
from foreread.boards.base.interrupts import uninterrupted
from foreread.boards.device import Devices, Disk
from foreread.tracer.formats.disk_probe import Computing, DiskProbe, PageReads, ProbeTrial
from foreread.tracer.local import cold
from foreread.tracer.local.disk.computing import compute_after_waits
from foreread.tracer.local.disk.pages import read_pages
from foreread.tracer.local.disk.plan import is_held, probe
from foreread.tracer.local.disk.reader import DirectReader, open_direct
from foreread.tracer.local.disk.spans import Places, Span, spans_of_disk
from foreread.tracer.local.groups import group_folder

Read = tuple[int, int]  # first sector, sectors
_LIMIT_S = 20.0  # under a limit of a few KiB a second one request takes seconds
_ANSWER_BYTES = 1 << 24
_MOST_FILES = 64
_ALIGNED = 4096


class _Answer(msgspec.Struct):
    """The result of the child."""

    trials: list[ProbeTrial]
    pages: list[PageReads]
    computing: Computing | None


class ProbeFailed(RuntimeError):
    """A disk that could not be probed; the recording itself is complete."""


def probe_disk(
    devices: Devices, name: str, reads: Sequence[Read], files: Sequence[Path], group: str
) -> DiskProbe:
    """Read disk ``name`` where the run read it and return the requests.

    ``reads`` are the run's own; where the disk cannot be opened its ``files`` are read. ``group``
    is the cgroup of the command, empty if that is our own. Raises ProbeFailed.
    """
    disk = devices.disk(name)
    folder = None
    if group:
        folder = group_folder(group, "blkio")
        if folder is None or not folder.is_dir():
            raise ProbeFailed(f"the command's cgroup {group} is gone, with its limits")
    if _is_cached_below(devices, name):
        cold.drop()
    began = time.monotonic()
    with ExitStack() as stack:
        spans = _spans(stack, disk, reads, files)
        result = _in_child(spans, folder)
    if not result.trials:
        raise ProbeFailed(f"nothing of {name} that was read is large enough")
    return DiskProbe(
        dev=disk.dev,
        name=disk.name,
        seconds=time.monotonic() - began,
        group=group,
        trials=result.trials,
        pages=result.pages,
        computing=result.computing,
    )


def _spans(
    stack: ExitStack, disk: Disk, reads: Sequence[Read], files: Sequence[Path]
) -> list[Span]:
    """Open the disk, or else the largest files on it; return the spans that may be read."""
    try:
        device = open_direct(f"/dev/{disk.name.replace('!', '/')}")
    except OSError as error:
        refused = f"{disk.name} cannot be read past the page cache ({error.strerror})"
    else:
        stack.callback(os.close, device)
        return spans_of_disk(device, reads, disk.size_bytes)
    spans: list[Span] = []
    for file in files[:_MOST_FILES]:
        with contextlib.suppress(OSError):
            descriptor = open_direct(str(file))
            stack.callback(os.close, descriptor)
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode):
                spans.append(Span(descriptor, 0, status.st_size // _ALIGNED * _ALIGNED))
    if not spans:
        raise ProbeFailed(f"{refused}, and none of its files either")
    return spans


def _is_cached_below(devices: Devices, name: str) -> bool:
    """Return whether the disk is a loop device whose backing file goes through the page cache."""
    try:
        return (devices.sys / "block" / name / "loop/dio").read_text().strip() == "0"
    except OSError:
        return False


def _in_child(spans: list[Span], folder: Path | None) -> _Answer:
    """Run the trials in a process of its own: only a whole process can be in a cgroup of v2."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_child(spans, folder, into)
    os.close(into)
    try:
        answer = _answer(out)
    finally:
        with uninterrupted():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(out)
    if answer.startswith(b"{"):
        return msgspec.json.decode(answer, type=_Answer)
    raise ProbeFailed(os.fsdecode(answer) or "the reader ended early")


def _answer(out: int) -> bytes:
    parts: list[bytes] = []
    end = time.monotonic() + _LIMIT_S
    while (left_s := end - time.monotonic()) > 0:
        if not select.select([out], [], [], left_s)[0]:
            break
        part = os.read(out, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
        if sum(map(len, parts)) > _ANSWER_BYTES:
            break
    return f"the reads took longer than {_LIMIT_S:g} s".encode()


def _be_child(spans: list[Span], folder: Path | None, into: int) -> None:
    """Probe, write the trials (JSON) or the problem to ``into``, and exit; never returns."""
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        die_with_parent()  # it holds foreread's lock, too
        answer = _trials_or_reason(spans, folder)
        while answer:
            answer = answer[os.write(into, answer) :]
        status = 0
    finally:
        os._exit(status)


def _trials_or_reason(spans: list[Span], folder: Path | None) -> bytes:
    try:
        if folder is not None:
            (folder / "cgroup.procs").write_text(f"{os.getpid()}\n")
        places = Places(spans, random.Random())
        trials = probe(DirectReader(places).run)
        pages = [] if is_held(trials) else read_pages(places)
        computing = compute_after_waits(places, trials) if trials else None
        return msgspec.json.encode(_Answer(trials, pages, computing))
    except OSError as error:
        return f"{error.filename or 'a read'}: {error.strerror}".encode()
