"""Real ssh servers on loopback, each with its own port, keys and configuration in a folder."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from waiting import wait_until

APPLETS = ("cat", "wc", "mv", "rm", "chmod")
USER = pwd.getpwuid(os.getuid()).pw_name


def missing(kind: str) -> str:
    """Return why the server cannot be run here, or an empty string."""
    binary = {"openssh": "sshd", "dropbear": "dropbear"}[kind]
    unchecked = f"ssh targets are not checked against {kind}"
    if not shutil.which(binary) or not shutil.which("ssh"):
        return f"no {binary}, or no ssh client: {unchecked}"
    if kind == "openssh" and os.getuid() == 0 and not (can_mount() or Path("/run/sshd").exists()):
        return f"needs root to mount, or root's sshd lacks /run/sshd: {unchecked}"
    if kind == "dropbear" and not can_mount():
        return f"needs root to mount a home of dropbear's own: {unchecked}"
    if kind == "dropbear" and not shutil.which("busybox"):
        return f"no busybox: {unchecked}"
    return ""


class SshServer:
    """A running server; ``known_hosts`` and ``identity`` are what a client needs."""

    def __init__(self, kind: str, folder: Path, mounts: str = "") -> None:
        self.kind = kind
        self.mounts = mounts  # lines of shell, where mounting is possible
        self.folder = folder
        self.identity = folder / "identity"
        self.known_hosts = folder / "known_hosts"
        self.port = free_port()
        self.shells: list[int] = []
        _keygen(self.identity)
        {"openssh": self._prepare_openssh, "dropbear": self._prepare_dropbear}[kind]()
        self.start()

    @property
    def url(self) -> str:
        return f"ssh://{USER}@127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, on its port, and wait until it listens."""
        self.log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(self.command, stderr=self.log, stdin=subprocess.DEVNULL)
        wait_until(lambda: self.process.poll() is not None or accepts(self.port))
        assert self.process.poll() is None, (self.folder / "log").read_text()

    def cut(self) -> None:
        """Kill the server and its sessions, as a cut cable would: their shells live on."""
        below = _descendants(self.process.pid)
        own = [
            pid for pid in below if _name(pid).startswith(("sshd", "dropbear"))
        ]  # sshd-session, too
        self.shells += [pid for pid in below if pid not in own]
        _kill([*own, self.process.pid])
        self.process.wait()
        self.log.close()

    def freeze(self) -> None:
        """Stop the server and its sessions where they are, as a hanging kernel would."""
        for pid in [*_descendants(self.process.pid), self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def stop(self) -> None:
        """Kill it and all that runs in its sessions."""
        if self.process.poll() is None:
            self.cut()
        _kill(self.shells)

    def _prepare_openssh(self) -> None:
        host_key = self.folder / "host_key"
        _keygen(host_key)
        self._trust(host_key.with_suffix(".pub").read_text())
        # Without PAM and without our own shadow, a user who has no password is "locked".
        pam = "no" if can_mount() else "yes"
        (self.folder / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {host_key}\nPidFile none\n"
            f"AuthorizedKeysFile {self.identity}.pub\nStrictModes no\nUsePAM {pam}\n"
            "PermitRootLogin yes\nMaxSessions 100\nMaxStartups 100\n"
        )
        sshd = [shutil.which("sshd"), "-D", "-e", "-f", self.folder / "sshd_config"]
        self.command = self._in_namespace(sshd, "/bin/sh", "")

    def _prepare_dropbear(self) -> None:
        ssh_folder = self.folder / ".ssh"
        ssh_folder.mkdir(mode=0o700)
        shutil.copy(f"{self.identity}.pub", ssh_folder / "authorized_keys")
        (ssh_folder / "authorized_keys").chmod(0o600)
        key = self.folder / "host_key"
        made = _output("dropbearkey", "-t", "ed25519", "-f", key)
        self._trust(next(line for line in made.splitlines() if line.startswith("ssh-ed25519")))
        dropbear = [shutil.which("dropbear"), "-F", "-E", "-r", key]
        dropbear += ["-p", f"127.0.0.1:{self.port}", "-P", self.folder / "pid"]
        busybox = shutil.which("busybox")
        binaries = [os.path.realpath(shutil.which(name)) for name in ("sh", *APPLETS)]
        mounts = "".join(f"mount --bind {busybox} {binary}\n" for binary in binaries)
        self.command = self._in_namespace(dropbear, "/bin/sh", mounts)

    def _in_namespace(self, command: list, shell: str, mounts: str) -> list:
        """Return the command in a mount namespace where the user's home is the folder."""
        if not can_mount():
            return command
        user = pwd.getpwuid(os.getuid())
        passwd, shadow = self.folder / "passwd", self.folder / "shadow"
        ids = f"{user.pw_uid}:{user.pw_gid}"
        passwd.write_text(
            f"{USER}:x:{ids}::{self.folder}:{shell}\nsshd:x:65533:65534::/:/bin/false\n"
        )
        shadow.write_text(f"{USER}:*:1::::::\n")
        script = self.folder / "enter.sh"
        script.write_text(
            f"set -e\nmount -t tmpfs none /run\nmkdir -m 755 /run/sshd\n"
            f"mount --bind {passwd} /etc/passwd\nmount --bind {shadow} /etc/shadow\n"
            f'{mounts}{self.mounts}exec "$@"\n'
        )
        return ["unshare", "--mount", "--propagation=private", "sh", script, *command]

    def _trust(self, key: str) -> None:
        kind, text = key.split()[:2]
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {kind} {text}\n")


def can_mount() -> bool:
    probe = ["unshare", "--mount", "--propagation=private", "mount", "-t", "tmpfs", "none", "/run"]
    try:
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _keygen(path: Path) -> None:
    _output("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path)


def _output(*command: object) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True
    )
    return done.stdout


def accepts(port: int) -> bool:
    """Return whether a server at the port on loopback accepts connections."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """Return a port on loopback that nothing uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _name(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def _descendants(pid: int) -> list[int]:
    """Return the processes below ``pid``: a session that detached itself is not found."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found
