"""Live boards: emulated ones that stay up, with the slow disk as their root, reached by ssh."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from boards.emulated import guest_protocol, image, keys, state
from boards.emulated.board import check_memory, least_memory_mib
from boards.emulated.error import BoardError, require_tool
from boards.emulated.initramfs import job_initramfs
from boards.emulated.parts import DEFAULT_PACKAGES, Parts
from boards.emulated.qemu import PANIC, Boot, Disk, escaped, last_line, qemu_words
from boards.ssh import SshTarget
from boards.ssh_connection import SshAddress
from boards.target import TargetError

# Main memory that applications have when nobody says how much there is.
_ROOM_MIB = 128


@dataclass(frozen=True)
class LiveOptions:
    """A live board: ``latency_ns`` and ``ns_per_kib`` are its disk's cost.

    Without ``memory_mib`` it has what its disk takes and 128 MiB. ``append`` are words for the
    kernel's command line, ``rtc`` is where its clock begins (QEMU's -rtc base).
    """

    board: str
    kernel: str = "6.1"
    packages: tuple[str, ...] = DEFAULT_PACKAGES
    fs: str = "ext4"
    latency_ns: int = 1_000_000
    ns_per_kib: int = 50_000
    memory_mib: int | None = None
    swap_mib: int = 32
    read_only: bool = False
    append: str = ""
    rtc: str = "utc"
    network: bool = True
    time_out_s: float = 120.0


class LiveBoard:
    """A board that runs, and the folder that holds what belongs to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def address(self) -> SshAddress:
        """Where its ssh server is."""
        port = int((self.folder / "port").read_text())
        return SshAddress("127.0.0.1", "root", port)

    @property
    def known_hosts(self) -> Path:
        """Its host key, as ssh wants it."""
        return self.folder / "known_hosts"

    @property
    def identity(self) -> Path:
        """The key that may log in."""
        return self.folder / "identity"

    @property
    def log(self) -> Path:
        """All that it said on its console."""
        return self.folder / "console"

    def stop(self) -> None:
        """End it and remove what belonged to it."""
        state.end(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)


class EmulatedTarget(SshTarget):
    """A live board as a target; stopped when it is closed."""

    def __init__(
        self, options: LiveOptions, tell: Callable[[str], None] = lambda step: None
    ) -> None:
        self.board = boot(options, tell)
        super().__init__(self.board.address, self.board.known_hosts, self.board.identity)

    def close(self) -> None:
        """End the connection and the board."""
        super().close()
        self.board.stop()


def boot(options: LiveOptions, tell: Callable[[str], None] = lambda step: None) -> LiveBoard:
    """Boot a board for this process, with which it ends; raises BoardError."""
    folder = Path(tempfile.mkdtemp(prefix="foreread-board-"))
    board = LiveBoard(folder)
    try:
        start(options, folder, tell, tied=True)
    except BaseException:
        board.stop()
        raise
    weakref.finalize(board, LiveBoard.stop, LiveBoard(folder))
    return board


def start(
    options: LiveOptions, folder: Path, tell: Callable[[str], None], tied: bool = False
) -> None:
    """Boot a board whose state is kept in an empty ``folder``; raises BoardError.

    ``tied`` to this process, it ends when this one does.
    """
    image.check_file_system(options.fs)
    parts = Parts(options.board, options.kernel, options.packages, tell=tell)
    files, disk = parts.boot_files(), parts.live_image(options.fs, options.swap_mib)
    memory = options.memory_mib or least_memory_mib(parts, disk) + _ROOM_MIB
    check_memory(parts, memory, disk)
    shutil.copyfile(disk, folder / "disk")
    job = keys.make_keys(folder) | {"settings": _settings(options)}
    (folder / "initrd").write_bytes((files / "initramfs").read_bytes() + job_initramfs(job))
    port = _free_port()
    (folder / "port").write_text(str(port))
    keys.write_known_hosts(folder, port)
    append = " ".join(["quiet rdinit=/live net.ifnames=0", options.append]).strip()
    begin = Boot(files / "kernel", folder / "initrd", memory, append)
    disks = [Disk("image", folder / "disk", writable=options.fs != "squashfs")]
    words = qemu_words(parts.machine, begin, disks, parts.machine.icount(sleeps=True))
    words += ["-rtc", f"base={options.rtc},clock=vm", *_console(folder)]
    words += _network(parts.machine.bus, port) if options.network else ["-nic", "none"]
    tell(f"booting {options.board}")
    process = _spawn(folder, words, tied)
    if options.network:
        _wait(LiveBoard(folder), process, options.time_out_s)


def _settings(options: LiveOptions) -> bytes:
    mode = "ro" if options.read_only or options.fs == "squashfs" else "rw"
    return guest_protocol.assignments(
        {
            "LATENCY_NS": options.latency_ns,
            "NS_PER_KIB": options.ns_per_kib,
            "AWAKE": 1,
            "FS": options.fs,
            "ROOT_OPTIONS": f"{mode},noatime",
        }
    )


def _console(folder: Path) -> list[str]:
    log = f"logfile={escaped(folder / 'console')},logappend=on"
    return ["-chardev", f"pty,id=console,{log}", "-serial", "chardev:console"]


def _network(bus: str, port: int) -> list[str]:
    # restrict: the guest reaches neither this machine nor what is behind it.
    net = f"user,id=net,restrict=on,ipv6=off,hostfwd=tcp:127.0.0.1:{port}-:22"
    return ["-netdev", net, "-device", f"virtio-net-{bus},netdev=net"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _spawn(folder: Path, words: list[str], tied: bool) -> subprocess.Popen[bytes]:
    if tied:
        words = [require_tool("setpriv", "util-linux"), "--pdeathsig", "TERM", *words]
    with (folder / "qemu").open("wb") as log:
        return subprocess.Popen(
            state.recorded(folder, words),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a Ctrl-C is ours, and it is stopped then
        )


def _wait(board: LiveBoard, process: subprocess.Popen[bytes], time_out_s: float) -> None:
    """Return once ssh answers; raises BoardError that says how far the board came."""
    end = time.monotonic() + time_out_s
    while time.monotonic() < end:
        if process.poll() is not None:
            raise BoardError(f"QEMU ended{last_line(board.folder / 'qemu')}", "see its message")
        said = board.log.read_text(errors="replace") if board.log.exists() else ""
        if PANIC.search(said) or "board: failed" in said:
            break
        if "board: ssh" in said and _answers(board):
            return
        time.sleep(0.1)
    raise BoardError(f"the board did not come up{last_line(board.log)}", "see its console")


def _answers(board: LiveBoard) -> bool:
    with SshTarget(board.address, board.known_hosts, board.identity) as target:
        try:
            return target.run(["true"], timeout_s=10).status == 0
        except TargetError:
            return False
