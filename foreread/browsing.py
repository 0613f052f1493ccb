"""Shows a report in the desktop's browser, or says how to reach it from another computer."""

from __future__ import annotations

import errno
import getpass
import hashlib
import os
import shlex
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from foreread.error import FileError

_PORT = 8000


@dataclass(frozen=True)
class Viewed:
    """How a report was shown.

    ``commands`` reach the report from another computer; the list is empty if a browser was opened.
    """

    html: str
    opened: bool
    commands: list[str]


def view(page: str | os.PathLike[str], environment: Mapping[str, str] | None = None) -> Viewed:
    """Open a page in the browser of this desktop; without one, return the commands to reach it.

    ``environment``: of the desktop; None: of this process. Raises FileError.
    """
    environment = os.environ if environment is None else environment
    file = Path(page).absolute()
    if not file.is_file():
        raise FileError(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file)))
    opened = has_desktop(environment) and webbrowser.open(file.as_uri())
    commands = [] if opened else commands_to_reach(file, environment)
    return Viewed(str(file), opened, commands)


def has_desktop(environment: Mapping[str, str]) -> bool:
    """Return whether a browser opened here would appear before the user."""
    if environment.get("SSH_CONNECTION"):
        return False  # a DISPLAY that is forwarded makes a browser too slow
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def commands_to_reach(page: Path, environment: Mapping[str, str]) -> list[str]:
    """Return commands for the user's computer: a copy, or a web server through ssh.

    Without an ssh connection: the command that opens the page where a desktop is.
    """
    words = environment.get("SSH_CONNECTION", "").split()
    if len(words) != 4:
        return [shlex.join(["xdg-open", str(page)])]
    address, port = words[2], words[3]
    user = getpass.getuser()
    host = f"[{address}]" if ":" in address else address
    at_port = [] if port == "22" else ["-P", port]
    copy = ["scp", *at_port, f"{user}@{host}:{page}", "."]
    serve = ["python3", "-m", "http.server", "-b", "127.0.0.1", "-d", str(page.parent), str(_PORT)]
    forward = f"{_PORT}:127.0.0.1:{_PORT}"
    login = ["ssh", *(["-p", port] if at_port else []), "-L", forward, f"{user}@{address}"]
    return [
        f"{shlex.join(copy)} && xdg-open {shlex.quote(page.name)}",
        f"{shlex.join([*login, shlex.join(serve)])}  # then open http://localhost:{_PORT}/{page.name}",
    ]


def folder_of(captures: Sequence[Path]) -> Path:
    """Return the folder for the report of some files: the same one each time, of this user."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foreread" / "views"
    names = "\0".join(str(path.absolute()) for path in captures)
    folder = base / hashlib.sha256(names.encode(errors="surrogateescape")).hexdigest()[:16]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
