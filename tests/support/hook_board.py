"""A board in a chroot that has what the hook that records a boot needs."""

from __future__ import annotations

from importlib import resources

from chroot_board import ChrootBoard

APPLETS = ("cat", "chmod", "cmp", "dd", "grep", "kill", "mkfifo", "sed", "sleep", "wc")
SCRIPT = (resources.files("foreread.tracer.remote") / "boot_hook.sh").read_bytes()
PLACE = (resources.files("foreread.tracer.remote") / "place.sh").read_bytes()
TOKEN = "0123456789abcdef"
JOB = f"run/foreread-{TOKEN}"
# Stands in for the recorder: it begins, waits for the end of the boot, and is over.
RECORDER = b"""\
[ "$2" = boot ] || exit 0
job=${0%/*}
mkdir "$job/marks" "$job/instance"
mkfifo "$job/ends"
echo "$job/marks $job/instance" >"$job/pair"
exec 5<>"$job/ends"
echo begun >&8
read -r why <&5
echo "$why" >/recorded
rm -rf "$job"
"""
WATCH_S = 100  # longer than a recorder takes to begin on a loaded machine
FILES = {"job.sh": RECORDER, "settings": b"", "place.sh": PLACE}


class Board(ChrootBoard):
    """Has what the hook needs; ``fail_at``: the connection is lost at this call."""

    def __init__(self, root, init="/bin/busybox"):
        super().__init__(root, init)
        for applet in APPLETS:
            (root / "bin" / applet).symlink_to("busybox")
        self.directory("proc/sys/kernel/random")
        self.put("proc/mounts", "/dev/root / ext4 rw 0 0\ntmpfs /run tmpfs rw 0 0\n")
        self.put("proc/uptime", "3.14 2.71\n")
        self.put("dev/kmsg", "")
        self.put("dev/null", "")
        self.put("dev/zero", "\0" * (1 << 18))
        self.put("sys/block/slow0/stat", "45 0 3874 0\n")
        self.calls, self.fail_at = 0, None
        self.failure = ConnectionResetError("the power went off")
        self.boot()

    def boot(self, number=1):
        self.put("proc/sys/kernel/random/boot_id", f"boot-{number}\n")

    def run(self, command, stdin=b"", timeout_s=None):
        self._called()
        return super().run(command, stdin, timeout_s)

    def push(self, source, destination, mode=0o644):
        self._called()
        super().push(source, destination, mode)

    def _called(self):
        self.calls += 1
        if self.calls == self.fail_at:
            raise self.failure


def files_of(board):
    """All but what the boards's kernel and memory have."""
    kept = ("proc", "run", "sys", "dev", "tmp", "recorded")
    return {name: what for name, what in board.tree().items() if name.split("/")[0] not in kept}
