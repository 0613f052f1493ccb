"""Files that are not plain data, and a process that gives them to foreread one after the other."""

import contextlib
import ctypes
import importlib
import itertools
import json
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waiting import take_time

HANG_S = 120  # for a call that takes milliseconds
AT_WORK = 77  # the exit code of a command that does no work, and would have begun
_MEMORY = 6 << 30  # bytes of address space: an endless file ends in an error here, not in swap
_CAPSET_VERSION = 0x20080522
_OVERRIDES = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, which let root read anything
_TRACE_LINE = b" cat-1 [000] .... 1.0: sched_stat_wait: comm=a pid=1 delay=2 [ns]\n"
_GROWN = 8 << 20
# Names end as a recipe's do, so that --recipe takes them too.
NAMES = tuple(
    f"{kind}.toml"
    for kind in (
        *("pipe", "held-pipe", "zero", "random", "terminal", "folder", "socket", "unreadable"),
        *("dangling", "loop", "growing", "empty"),
    )
)


@dataclass(frozen=True)
class Outcome:
    """What one call of foreread did: ``code`` is negative for a signal, None for a hang."""

    code: int | None
    stdout: str
    stderr: str


@contextlib.contextmanager
def special_files(folder: Path) -> Iterator[None]:
    """Make a file of each kind in ``folder``, and keep them in their state."""
    with contextlib.ExitStack() as held:
        for name in ("pipe", "held-pipe"):
            os.mkfifo(folder / f"{name}.toml")
        held.callback(os.close, os.open(folder / "held-pipe.toml", os.O_RDWR))
        (folder / "zero.toml").symlink_to("/dev/zero")
        (folder / "random.toml").symlink_to("/dev/random")
        ours, theirs = os.openpty()
        for end in (ours, theirs):
            held.callback(os.close, end)
        (folder / "terminal.toml").symlink_to(os.ttyname(theirs))
        (folder / "folder.toml").mkdir()
        with contextlib.chdir(folder):  # a socket's path has at most 107 bytes
            held.enter_context(socket.socket(socket.AF_UNIX)).bind("socket.toml")
        (folder / "unreadable.toml").write_text("kind = 'fixed'\n")
        (folder / "unreadable.toml").chmod(0)
        (folder / "dangling.toml").symlink_to("nowhere")
        (folder / "loop.toml").symlink_to("loop.toml")
        (folder / "empty.toml").touch()
        held.enter_context(_growing(folder / "growing.toml"))
        yield


@contextlib.contextmanager
def _growing(path: Path) -> Iterator[None]:
    """Append to a file for as long as most tests of it take."""
    ended = threading.Event()
    piece = _TRACE_LINE * 100
    path.write_bytes(b"# tracer: nop\n#\n" + piece)

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            for _ in range(_GROWN // len(piece)):
                if ended.is_set():
                    break
                take_time(0.05)
                file.write(piece)

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Calls:
    """Calls foreread in forks of one process, which imports each module once."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._numbers = itertools.count()

    def __call__(
        self,
        calls: list[list[str]],
        folder: Path,
        most_bytes: int = resource.RLIM_INFINITY,
        idle: bool = False,
    ) -> list[Outcome]:
        """Return what foreread does with each list of words in ``folder``.

        Root is made to respect permissions, so that an unreadable file is one for root too. No
        file grows beyond ``most_bytes``: a write fails in its middle, as on a full disk. With
        ``idle`` a command ends with AT_WORK where its work begins.
        """
        asked = {"folder": str(folder), "most_bytes": most_bytes, "idle": idle}
        return [self._outcome({"words": words, **asked}) for words in calls]

    def _outcome(self, asked: dict[str, object]) -> Outcome:
        to, answers = self._process.stdin, self._process.stdout
        number = next(self._numbers)
        print(json.dumps([number, asked]), file=to, flush=True)
        for line in answers:  # also those to calls of a test that was ended before it read them
            answered, found = json.loads(line)
            if answered == number:
                return Outcome(**found)
        raise AssertionError("the process that calls foreread has ended")


@contextlib.contextmanager
def calls_of_foreread() -> Iterator[Calls]:
    """Start the process, and end it with the block."""
    words = [sys.executable, __file__]
    piped = subprocess.PIPE
    with subprocess.Popen(words, stdin=piped, stdout=piped, text=True) as process:
        yield Calls(process)
        process.stdin.close()  # the process ends


def _main() -> None:
    from foreread.cli import main

    for line in sys.stdin:
        number, asked = json.loads(line)
        main.command_module(asked["words"][0])
        print(json.dumps([number, _called(main, **asked)]), flush=True)


def _called(main, words: list[str], folder: str, **how: Any) -> dict[str, object]:
    """Run one call in a fork, which takes milliseconds where Python's start takes a second."""
    out = Path(folder) / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.unlink(missing_ok=True)
    streams = [os.memfd_create(name) for name in ("stdout", "stderr")]
    modules, imported = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)
        _run(main, words, streams, imported, **how)
    os.close(imported)
    status = _status(pid)
    texts = [os.pread(stream, 1 << 20, 0).decode(errors="replace") for stream in streams]
    for stream in streams:
        os.close(stream)
    os.set_blocking(modules, False)  # a process that the call left may hold the other end
    with os.fdopen(modules, "rb", buffering=0) as names:
        _import_too((names.read(1 << 16) or b"").decode().split())
    return {"code": status, "stdout": texts[0], "stderr": texts[1]}


def _import_too(modules: list[str]) -> None:
    """Import what a call has imported, so that the next calls need not."""
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _run(
    main, words: list[str], streams: list[int], imported: int, most_bytes: int, idle: bool
) -> None:
    code = 99
    before = {*sys.modules}
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream, number in zip(streams, (1, 2), strict=True):
            os.dup2(stream, number)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        _respect_permissions()
        if idle:
            main.command_module(words[0]).run = lambda _args: AT_WORK
        code = main.main(words)
    except SystemExit as ended:  # argparse
        code = ended.code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(imported, " ".join({*sys.modules} - before).encode())
    os._exit(code)


def _status(pid: int) -> int | None:
    with os.fdopen(os.pidfd_open(pid)) as ended:
        if select.select([ended], [], [], HANG_S)[0]:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def _respect_permissions() -> None:
    """Drop the capabilities with which root opens any file, in this process."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPSET_VERSION, 0)
    data = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice
    if libc.capget(header, data) == 0:
        data[0] &= ~_OVERRIDES
        data[1] &= ~_OVERRIDES
        libc.capset(header, data)


if __name__ == "__main__":
    _main()
