"""The keys of one start of a board; they are private to it, and deleted with it."""

from __future__ import annotations

from pathlib import Path

from foreread.boards.emulated.error import call, require_tool

_SPACE = "check that the state folder is writable"


def make_keys(folder: Path) -> dict[str, bytes]:
    """Make ``identity`` in the folder; return the files of the guest's folder job/run.

    ``host_key.pub`` stays for ``write_known_hosts``. Raises BoardError.
    """
    tool = require_tool("ssh-keygen", "openssh-client")
    for name in ("identity", "host_key"):
        call([tool, "-q", "-t", "ed25519", "-N", "", "-C", "board", "-f", folder / name], _SPACE)
    secret = folder / "host_key"
    files = {
        "run/host_key.openssh": secret.read_bytes(),
        "run/ssh/authorized_keys": (folder / "identity.pub").read_bytes(),
    }
    secret.unlink()  # only the board has it
    return files


def write_known_hosts(folder: Path, host: str, port: int) -> None:
    """Write ``known_hosts`` for the board at ``host`` and ``port``."""
    key = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"[{host}]:{port} {key}")
