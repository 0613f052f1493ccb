"""The starts of the study: recorded on a board, and measured cold on the same one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from boards.emulated import live
from boards.emulated.live import LiveBoard, LiveOptions
from boards.shell import ShellTarget
from studies.accuracy.cli import Foreread
from studies.accuracy.on_boards import MADPLAY, PERL, PYTHON, SD, VIM, Application
from studies.error import StudyError
from studies.layout.images import KERNEL, PACKAGES

STARTS = (MADPLAY, PERL, PYTHON, VIM)
_PROGRAMS = {"madplay": "/usr/bin/madplay", "perl": "/usr/bin/perl"}
_PROGRAMS |= {"python3": "/usr/bin/python3", "vim.basic": "/usr/bin/vim.basic"}
DISK, DEVICE = "slow1", "/dev/slow1"
_BUSYBOX = "/run/busybox"
_SCRATCH_MIB = 220  # the largest image, which is not compressed
# Files that no start reads, far apart: their metadata and fragments take the places in squashfs's
# caches.
OTHERS = (
    "etc/perl/Net/libnet.cfg",
    "usr/share/vim/vim90/ftplugin/spec.vim",
    "usr/lib/python3.11/unittest/__main__.py",
    "usr/share/vim/vim90/indent/vb.vim",
    "usr/share/perl/5.36.0/unicore/lib/InSC/Consona5.pl",
    "usr/share/doc/libmad0/TODO",
    "usr/share/vim/vim90/syntax/lifelines.vim",
    "usr/share/alsa/cards/ICH4.conf",
    "usr/share/doc/libcrypt1/copyright",
    "usr/share/man/de/man1/dpkg-query.1.gz",
    "usr/share/bug/vim/presubj",
)
_SCRIPT = Path(__file__).with_name("measure.sh")


@dataclass(frozen=True)
class Run:
    """A cold run: requests and bytes of the disk, data and metadata."""

    seconds: float
    requests: int
    read_bytes: int


@contextmanager
def board(
    image: Path, fs: str = "squashfs", packages: Sequence[str] = PACKAGES
) -> Iterator[LiveBoard]:
    """Boot a board with an image, and a second device for others."""
    options = LiveOptions(
        board="x86_64",
        kernel=KERNEL,
        packages=tuple(packages),
        fs=fs,
        image=str(image.absolute()),
        latency_ns=SD.latency_us * 1000,
        ns_per_kib=SD.ns_per_kib,
        scratch_mib=_SCRATCH_MIB,
        modules=("loop", "erofs"),
        read_only=fs == "ext4",  # python stores compiled modules where it can
        time_out_s=600,
    )
    started = live.start(options, f"layout-{os.getpid()}")
    try:
        yield started
    finally:
        started.stop()


def record(name: str, application: Application, capture: Path, foreread: Foreread) -> None:
    """Record a start on a board."""
    words = ("record", "--target", name, "--wait", 300, "--allow-warm", "-o", capture)
    foreread(*words, "--", *application.command)


def measure(target: ShellTarget, image: Path, fs: str) -> dict[str, Run]:
    """Put an image on the second device of a board, and return a cold run of each start.

    ``seconds`` are without those of a command that does nothing, which a capture does not have.
    """
    with image.open("rb") as file:
        filled = target.execute(f"cat > {DEVICE}", f"filling {DEVICE}", file, timeout_s=600)
    copied = target.run(["cp", "/bin/busybox", _BUSYBOX])
    if filled.status or copied.status:
        raise StudyError(f"{image.name}: {filled.stderr + copied.stderr!r}", "see the board's log")
    words = ["sh", "-c", _SCRIPT.read_text(), "sh", _BUSYBOX, DEVICE, fs, "\t".join(OTHERS)]
    commands = ["\t".join((_PROGRAMS[one.command[0]], *one.command[1:])) for one in STARTS]
    done = target.run([_BUSYBOX, *words, *commands], timeout_s=600)
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    if done.status or done.stderr or len(lines) != len(STARTS) + 1:
        raise StudyError(f"{image.name}: {done.stderr.decode()!r}", "see the board's log")
    return _runs(int(lines[0][1]), lines[1:])


def _runs(empty_ns: int, lines: Sequence[Sequence[str]]) -> dict[str, Run]:
    found = {}
    for start, (ns, requests, sectors) in zip(STARTS, lines, strict=True):
        run = Run((int(ns) - empty_ns) / 1e9, int(requests), int(sectors) * 512)
        found[start.name] = run
    return found
