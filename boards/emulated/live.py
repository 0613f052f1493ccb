"""Live boards: emulated boards that stay up, with the slow disk as their root, reached by ssh."""

from __future__ import annotations

import json
import shlex
import shutil
import tempfile
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from msgspec import UnsetType

from foreread.boards import disks
from foreread.boards.base.silent import silent
from foreread.boards.cost import Cost, FixedCost
from foreread.boards.emulated import coming_up, launch, state
from foreread.boards.emulated.error import BoardError
from foreread.boards.emulated.launch import LiveOptions
from foreread.boards.profile import Profile, builtin_names, profile_name
from foreread.boards.ssh import SshTarget
from foreread.boards.ssh_connection import SshAddress

__all__ = ["EmulatedTarget", "LiveBoard", "LiveOptions", "boot", "ended", "start", "started"]

# Options of `foreread boards start`: name, field of LiveOptions, units of the field in one of it.
_OPTIONS = (
    ("--kernel", "kernel", 1),
    ("--fs", "fs", 1),
    ("--image", "image", 1),
    ("--memory-mib", "memory_mib", 1),
    ("--disk", "disk", 1),
    ("--latency-us", "latency_ns", 1000),
    ("--ns-per-kib", "ns_per_kib", 1),
    ("--append", "append", 1),
    ("--data-mib", "data_mib", 1),
)

Tell = Callable[[str], None]


class LiveBoard:
    """A started board, identified by the folder of its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        """The name of the board."""
        return self.folder.name

    @property
    def options(self) -> dict[str, object]:
        """The options of its start."""
        return dict(json.loads((self.folder / launch.OPTIONS).read_text()))

    @property
    def address(self) -> SshAddress:
        """The address of its ssh server."""
        port = int((self.folder / launch.PORT).read_text())
        return SshAddress(launch.HOST, "root", port)

    @property
    def known_hosts(self) -> Path:
        """Its host key, in a file of ssh's format."""
        return self.folder / "known_hosts"

    @property
    def identity(self) -> Path:
        """The private key that may log in."""
        return self.folder / "identity"

    @property
    def console(self) -> str:
        """The URL of the serial port, which has a shell."""
        return f"serial://{self.folder / launch.SERIAL}"

    @property
    def log(self) -> Path:
        """The file with its console output."""
        return self.folder / launch.LOG

    def ssh_words(self) -> list[str]:
        """Return the command that connects to it."""
        files = ["-i", str(self.identity), "-o", f"UserKnownHostsFile={self.known_hosts}"]
        return ["ssh", *files, "-p", str(self.address.port), f"root@{launch.HOST}"]

    def start_words(self) -> list[str]:
        """Return the command that starts a board with the same options and name."""
        plain = LiveOptions("")
        options: dict[str, object] = {"board": self.name}
        with suppress(OSError, ValueError):  # killed during the write
            options |= self.options
        words = ["foreread", "boards", "start", str(options["board"])]
        words += [] if self.name == options["board"] else ["--name", self.name]
        for option, key, per in _OPTIONS:
            if options.get(key) not in (getattr(plain, key), None):
                number = options[key]
                words += [option, str(int(str(number)) // per if per > 1 else number)]
        packages = options.get("packages")
        if isinstance(packages, list) and tuple(packages) != plain.packages:
            words += [word for package in packages for word in ("--package", str(package))]
        modules = options.get("modules")
        if isinstance(modules, list):
            words += [word for module in modules for word in ("--module", str(module))]
        words += ["--systemd"] if options.get("init") == "systemd" else []
        return words + (["--read-only"] if options.get("read_only") else [])

    @property
    def disk_cost(self) -> Cost:
        """The cost of its disk, which its driver applies."""
        options = self.options
        latency_ns, ns_per_kib = (float(str(options[k])) for k in ("latency_ns", "ns_per_kib"))
        kind = disks.kind(str(options.get("disk", disks.FIXED)))
        return kind.cost(latency_ns, ns_per_kib)

    def target(self) -> StartedTarget:
        """Return the board as a target; closing the target leaves the board running."""
        return StartedTarget(self)

    def stop(self) -> None:
        """End the board and remove its files."""
        state.end(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)


class StartedTarget(SshTarget):
    """A live board as a target; ``disk_cost`` is the configured cost of its disk."""

    def __init__(self, board: LiveBoard) -> None:
        super().__init__(board.address, board.known_hosts, board.identity)
        self.disk_cost = board.disk_cost


class EmulatedTarget(StartedTarget):
    """A live board booted as a target; closing the target stops it. Raises BoardError."""

    def __init__(self, options: LiveOptions, tell: Tell = silent) -> None:
        self.board = boot(options, tell)
        super().__init__(self.board)

    def close(self) -> None:
        """End the connection and the board."""
        super().close()
        self.board.stop()


def boot(options: LiveOptions, tell: Tell = silent) -> LiveBoard:
    """Boot a board for this process; the board ends at the latest with it. Raises BoardError."""
    parts = launch.make(options, tell)
    board = LiveBoard(Path(tempfile.mkdtemp(prefix="foreread-board-")))
    weakref.finalize(board, LiveBoard.stop, LiveBoard(board.folder))
    try:
        _come_up(board, launch.launch(parts, board.folder, tied=True), options, tell)
    except BaseException:
        board.stop()
        raise
    return board


def start(options: LiveOptions, name: str | None = None, tell: Tell = silent) -> LiveBoard:
    """Boot a board that runs until it is stopped; raises BoardError.

    The name, by default the board's, must not be in use.
    """
    name = name or options.board
    _check_name(name, options.board)
    board = LiveBoard(state.default_states() / name)
    state.check_free(board.folder)
    parts = launch.make(options, tell)
    try:
        with state.claimed(board.folder):
            process = launch.launch(parts, board.folder, tied=False)
        _come_up(board, process, options, tell)
    except state.TakenError:
        raise
    except BaseException:
        board.stop()
        raise
    return board


def started(name: str) -> LiveBoard | None:
    """Return the started board of that name; None if none was started, or it was stopped.

    Raises BoardError if the board ended by itself: its data are lost, and a fresh board of that
    name has neither its packages nor its disk.
    """
    for board in ended():
        if board.name == name:
            raise BoardError(
                f"the board {name}, which was started, has ended by itself and what was written "
                f"to it is lost (its console: {board.log})",
                f"start it again: {shlex.join(board.start_words())}; or forget it: "
                f"foreread boards stop {name}",
            )
    return next((board for board in running() if board.name == name), None)


def running() -> list[LiveBoard]:
    """Return the boards that were started and run, sorted by name."""
    return [LiveBoard(folder) for folder in state.folders(state.default_states())]


def ended() -> list[LiveBoard]:
    """Return the boards that were started and ended without being stopped, sorted by name."""
    return [LiveBoard(folder) for folder in state.ended(state.default_states())]


def target_of(profile: Profile, board: str, tell: Tell = silent) -> SshTarget:
    """Return the started board of the profile's name, or boot a board for this target alone.

    Raises BoardError.
    """
    live_board = started(profile.name)
    return live_board.target() if live_board else EmulatedTarget(options_of(profile, board), tell)


def options_of(profile: Profile, board: str) -> LiveOptions:
    """Return the launch options of the profile's board, with defaults for missing ones."""
    options = LiveOptions(board)
    if not isinstance(profile.kernel, UnsetType):
        options = replace(options, kernel=profile.kernel.release)
    if not isinstance(profile.memory, UnsetType):
        options = replace(options, memory_mib=profile.memory.size_mib)
    costs = [disk.cost for disk in profile.storage if isinstance(disk.cost, FixedCost)]
    if costs:
        latency_ns, ns_per_kib = round(costs[0].latency_us * 1000), round(costs[0].ns_per_kib)
        options = replace(options, latency_ns=latency_ns, ns_per_kib=ns_per_kib)
    return options


def _come_up(board: LiveBoard, process: launch.Process, options: LiveOptions, tell: Tell) -> None:
    tell(f"booting {options.board}")
    coming_up.wait(board.target, process, board.folder, options)


def _check_name(name: str, board: str) -> None:
    if name != profile_name(name) or (name != board and name in ("local", *builtin_names())):
        raise BoardError(
            f"{name!r} is not a valid name of a started board",
            "use small letters, digits and dashes, and not the name of a board model",
        )
