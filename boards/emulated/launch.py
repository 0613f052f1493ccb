"""Starts QEMU for a live board, in a folder for all its files."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from foreread.boards import disks
from foreread.boards.emulated import guest_protocol, image, keys, live_root, state
from foreread.boards.emulated.board import check_memory, least_memory_mib
from foreread.boards.emulated.error import BoardError, call, require_tool
from foreread.boards.emulated.initramfs import job_initramfs
from foreread.boards.emulated.live_root import PACKAGES as INITS
from foreread.boards.emulated.machines import Machine
from foreread.boards.emulated.parts import DEFAULT_PACKAGES, Parts
from foreread.boards.emulated.qemu import Boot, Disk, escaped, qemu_words

HOST = "127.0.0.1"
OPTIONS, PORT, SERIAL, LOG, QEMU_LOG = "options", "port", "serial", "console", "qemu"
DATA = "data"
# Default main memory for applications.
_ROOM_MIB = 128

Process = subprocess.Popen[bytes]


@dataclass(frozen=True)
class LiveOptions:
    """A live board; ``latency_ns`` and ``ns_per_kib`` are its disk's cost if ``disk`` is "fixed".

    Other kinds of ``disk`` (disks.toml) have their own cost.

    Without ``kernel`` the board boots the machine's default. ``init`` is "busybox" or "systemd".
    Without ``memory_mib`` the board has the memory of its disk plus 128 MiB. ``append`` are words
    to append to the kernel command line, ``rtc`` is the beginning of its clock (QEMU's -rtc base=).
    The swap file is on the slow disk; only an ext4 has one. ``data_mib`` is the size of a virtio
    disk of serial "data" with an empty ext4: data synced to it survive a reset. An overlay keeps
    its changes there, otherwise in memory; nothing else mounts it. ``scratch_mib`` (additional
    memory) is the size of a second device of the slow disk, /dev/slow1; ``modules`` are loaded in
    addition. ``image`` is a file with the root, made by the user; its type is ``fs``. ``qemu`` are
    further words of QEMU's command line, such as a shared folder. Without ``sleeps`` idle time
    passes at once, so that boots repeat and do not depend on this machine's load; ssh would time
    out on such a board.
    """

    board: str
    kernel: str = ""
    packages: tuple[str, ...] = DEFAULT_PACKAGES
    init: str = "busybox"
    fs: str = "ext4"
    image: str = ""
    disk: str = disks.FIXED
    latency_ns: int = 1_000_000
    ns_per_kib: int = 50_000
    memory_mib: int | None = None
    swap_mib: int = 32
    data_mib: int = 0
    scratch_mib: int = 0
    modules: tuple[str, ...] = ()
    qemu: tuple[str, ...] = ()
    free_mib: int = live_root.FREE_MIB
    read_only: bool = False
    append: str = ""
    rtc: str = "utc"
    network: bool = True
    sleeps: bool = True
    time_out_s: float = 180.0


@dataclass(frozen=True)
class Made:
    """The boot files of a board, built and kept in the cache."""

    options: LiveOptions
    machine: Machine
    boot_files: Path
    more_modules: bytes
    image: Path
    memory_mib: int


def make(options: LiveOptions, tell: Callable[[str], None]) -> Made:
    """Build the parts that are not in the cache; raises BoardError."""
    image.check_file_system(options.fs)
    disks.kind(options.disk)
    if options.init not in INITS:
        raise BoardError(f"no board has {options.init!r} for init", f"use {' or '.join(INITS)}")
    parts = Parts(options.board, options.kernel, options.packages, tell=tell)
    disk = _image(options, parts)
    memory_mib = options.memory_mib or least_memory_mib(parts, disk) + _ROOM_MIB
    check_memory(parts, memory_mib, disk)
    memory_mib += options.scratch_mib
    more = parts.more_modules((*image.modules_of(options.fs), *options.modules))
    return Made(options, parts.machine, parts.boot_files(), more, disk, memory_mib)


def _image(options: LiveOptions, parts: Parts) -> Path:
    """Return the image of the root: the user's, or an image built from packages."""
    if not options.image:
        return parts.live_image(options.fs, options.init, options.swap_mib, options.free_mib)
    if not Path(options.image).is_file():
        raise BoardError(f"no file {options.image}", "give an image of the root with --image")
    return Path(options.image)


def launch(parts: Made, folder: Path, tied: bool) -> Process:
    """Start QEMU with its files in an empty folder; raises BoardError.

    ``tied``: QEMU ends when this process ends.
    """
    port = _free_port()
    (folder / PORT).write_text(str(port))
    (folder / OPTIONS).write_text(json.dumps(asdict(parts.options)))
    job = keys.make_keys(folder) | {"settings": _settings(parts.options)}
    keys.write_known_hosts(folder, HOST, port)
    shutil.copyfile(parts.image, folder / "disk")
    if parts.options.data_mib:
        _make_data_disk(folder / DATA, parts.options.data_mib)
    initramfs = (parts.boot_files / "initramfs").read_bytes()
    (folder / "initrd").write_bytes(initramfs + parts.more_modules + job_initramfs(job))
    return spawn(folder, _words(parts, folder, port), tied)


def _make_data_disk(path: Path, mib: int) -> None:
    tool = require_tool("mke2fs", "e2fsprogs")
    call([tool, "-q", "-F", "-t", "ext4", path, f"{mib}m"], "free some space")


def _words(parts: Made, folder: Path, port: int) -> list[str]:
    options, machine = parts.options, parts.machine
    # norandmaps: otherwise each boot caches other pages, and runs differ by a few requests.
    append = f"quiet rdinit=/live net.ifnames=0 norandmaps {options.append}".strip()
    boot = Boot(parts.boot_files / "kernel", folder / "initrd", parts.memory_mib, append)
    disk = Disk("image", folder / "disk", writable=not image.is_read_only(options.fs))
    disks = [disk]
    if options.data_mib:
        disks.append(Disk("data", folder / DATA, writable=True))
    # Idle time is real: otherwise hours pass in the guest while the host computes its answer.
    words = qemu_words(machine, boot, disks, machine.icount(sleeps=options.sleeps))
    words += ["-rtc", f"base={options.rtc},clock=vm"]
    # The socket's path is relative, since it may have 107 characters at most.
    log = f"logfile={escaped(folder / LOG)},logappend=on"
    words += ["-chardev", f"socket,id=serial,path={SERIAL},server=on,wait=off,{log}"]
    words += ["-serial", "chardev:serial", *options.qemu]
    return [*words, *_network(options, machine, port)]


def _network(options: LiveOptions, machine: Machine, port: int) -> list[str]:
    if not options.network:
        return ["-nic", "none"]
    # restrict: the guest reaches neither this machine nor what is behind it.
    net = f"user,id=net,restrict=on,ipv6=off,hostfwd=tcp:{HOST}:{port}-:22"
    return ["-netdev", net, "-device", f"virtio-net-{machine.bus},netdev=net"]


def _settings(options: LiveOptions) -> bytes:
    overlay = options.fs.startswith("overlay-")
    never = image.is_read_only(options.fs) and not overlay
    mode = "ro" if options.read_only or never else "rw"
    return guest_protocol.assignments(
        {
            "LATENCY_NS": options.latency_ns,
            "NS_PER_KIB": options.ns_per_kib,
            **disks.kind(options.disk).settings(),
            "SCRATCH_KIB": options.scratch_mib << 10,
            "FS": image.on_disk(options.fs),
            "OVERLAY": "yes" if overlay else "",
            "ROOT_OPTIONS": f"{mode},noatime",
        }
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def spawn(folder: Path, words: list[str], tied: bool) -> Process:
    """Start QEMU with these words in its folder, and store its process there."""
    if tied:
        words = [require_tool("setpriv", "util-linux"), "--pdeathsig", "TERM", *words]
    with (folder / QEMU_LOG).open("wb") as log:
        process = subprocess.Popen(
            state.recorded(folder, words),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,  # Ctrl-C reaches foreread, which then stops it
        )
    try:
        while process.poll() is None and not state.runs(folder):
            time.sleep(0.01)
    except BaseException:
        process.kill()
        raise
    return process
