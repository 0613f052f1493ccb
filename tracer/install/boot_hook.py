"""The hook that records one boot of a board: where its init finds it, and how it gets there.

The hook itself is ``tracer/remote/boot_hook.sh``. It goes where the boot script would go, but runs
first.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from foreread.boards.base.scratch import prefix
from foreread.boards.target import Target, TargetError
from foreread.tracer.error import InstallError
from foreread.tracer.install.board_access import BoardAccess, BoardFacts, refused_by_target
from foreread.tracer.install.init_system import (
    INITTAB,
    SYSTEMD_RUNS,
    UNITS,
    Init,
    init_of,
    rcs_folder,
    with_first_line,
)
from foreread.tracer.install.manifest import MANIFEST

HOOK_FOLDER = "/etc/foreread-boot"
HOOK = f"{HOOK_FOLDER}/hook"
ARMED = f"{HOOK_FOLDER}/armed"
_STEP_S = 60.0
_UNIT = f"""\
# Records one boot for foreread; removed after it.
[Unit]
Description=Recording of this boot by foreread
DefaultDependencies=no
After=systemd-remount-fs.service sys-kernel-tracing.mount sys-kernel-debug.mount
Before=local-fs-pre.target sysinit.target systemd-udevd.service systemd-udev-trigger.service
Before=systemd-modules-load.service systemd-tmpfiles-setup-dev.service
ConditionPathExists=@ARMED@

[Service]
Type=oneshot
RemainAfterExit=yes
StandardInput=null
StandardOutput=null
StandardError=null
ExecStart={HOOK} start
TimeoutSec=90
"""
_DONE_UNIT = f"""\
# Ends the recording of one boot for foreread; removed after it.
[Unit]
Description=End of the boot that foreread records
After=foreread-boot.service multi-user.target

[Service]
Type=oneshot
RemainAfterExit=yes
StandardInput=null
StandardOutput=null
StandardError=null
ExecStart={HOOK} done
"""


@dataclass(frozen=True)
class HookLayout:
    """What makes an init run the hook: units, links by place, or a changed inittab."""

    units: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    inittab: str | None = None

    @property
    def places(self) -> list[str]:
        """Every file and link, the links first."""
        return [*self.links, *self.units]


def hook_layout(
    init: Init, done: bool, inittab: str = "", rcs: str = "", armed: str = ARMED
) -> HookLayout:
    """Return what makes ``init`` run the hook first, and with ``done`` at the end of the boot, too.

    Raises InstallError if nothing on the board would run it.
    """
    if init == "systemd":
        units = {"foreread-boot": _UNIT.replace("@ARMED@", armed)}
        wanted = {"foreread-boot": "sysinit"}
        if done:
            units["foreread-boot-done"] = _DONE_UNIT
            wanted["foreread-boot-done"] = "multi-user"
        return HookLayout(
            {f"{UNITS}/{name}.service": text for name, text in units.items()},
            {
                f"{UNITS}/{by}.target.wants/{name}.service": f"{UNITS}/{name}.service"
                for name, by in wanted.items()
            },
        )
    if init == "procd":
        return _by_links("/etc/rc.d/S00", ["/etc/rc.d/S99z"] if done else [])
    if init == "sysv":  # /run is mounted by S02
        levels = [f"/etc/rc{level}.d/S99" for level in (2, 3, 4, 5)]
        return _by_links("/etc/rcS.d/S04", levels if done else [])
    folder = rcs_folder(inittab, rcs)
    if folder is None:
        return HookLayout(inittab=with_first_line(inittab, HOOK, done))
    return _by_links(f"{folder}/S00", [f"{folder}/S99"] if done else [])


def _by_links(first: str, last: Iterable[str]) -> HookLayout:
    names = [f"{first}foreread-boot", *(f"{place}foreread-boot-done" for place in last)]
    return HookLayout(links=dict.fromkeys(names, HOOK))


def _remedy(obstacle: str) -> str:
    """Return what to do about a folder that cannot keep the hook over a restart."""
    if "memory" in obstacle:
        return (
            "keep what is written over the image on a disk while you record (Debian Live: boot "
            "with `persistence`; emulated boards: foreread boards start --data-mib 64), or record "
            "the applications one by one"
        )
    return "make it writable (mount -o remount,rw /), or record the applications one by one"


class BoardHook:
    """The hook on a target. ``script`` is its text; ``done``: init says when the boot is over.

    ``state_dir`` is where the file is that arms it: it must survive a power cut. ``repair`` is the
    command that removes the hook.
    """

    def __init__(
        self,
        target: Target,
        script: bytes,
        *,
        done: bool,
        state_dir: str = HOOK_FOLDER,
        repair: str = "foreread doctor --restore --target TARGET",
    ) -> None:
        self.board, self.target = BoardAccess(target), target
        self.script, self.done, self.repair = script, done, repair
        self.armed = f"{state_dir.rstrip('/')}/{ARMED.rpartition('/')[2]}"

    def install(self, files: Mapping[str, bytes], token: str, watch_s: int) -> None:
        """Install the hook, unarmed, with ``files`` beside it.

        Raises InstallError; then the board is unchanged.
        """
        try:
            facts = self.board.look()
            layout = self._layout(facts)
            self.remove()
            try:
                self._put(layout, files, token, watch_s)
            except BaseException:
                with suppress(InstallError, TargetError, OSError):
                    self.remove()
                raise
        except OSError as error:
            raise refused_by_target(error) from error

    def arm(self) -> None:
        """Let the hook record the next boot, if that comes within five minutes."""
        self._call(["sh", HOOK, "arm"], "arm the hook")

    def remove(self) -> bool:
        """Remove the hook, whatever is left of it; return whether there was any.

        Raises InstallError if something of it stays.
        """
        there = self.board.states([HOOK_FOLDER])[HOOK_FOLDER] != "absent"
        if not there:
            return False
        for _ in range(2):  # the board may be removing it, too
            self.target.run(["sh", "-s", "--", "remove"], stdin=self.script, timeout_s=_STEP_S)
        if self.board.states([HOOK_FOLDER])[HOOK_FOLDER] != "absent":
            raise InstallError(
                f"{HOOK_FOLDER} on the target cannot be removed",
                f"make /etc writable there (mount -o remount,rw /), then: {self.repair}",
            )
        self._forget_units()
        return True

    def _layout(self, facts: BoardFacts) -> HookLayout:
        if obstacle := facts.obstacle("/etc"):
            raise InstallError(
                f"/etc of the target {obstacle}, so its init cannot be made to record a boot",
                _remedy(obstacle),
            )
        if self.board.states([MANIFEST])[MANIFEST] != "absent":
            raise InstallError(
                "the target has foreread's boot script or udev rule, which would change the window "
                "while the boot is recorded",
                "foreread script --uninstall --target TARGET, record, then install it again",
            )
        init = init_of(facts.exe, facts.has)
        return hook_layout(init, self.done, facts.inittab, facts.rcs, self.armed)

    def _put(
        self, layout: HookLayout, files: Mapping[str, bytes], token: str, watch_s: int
    ) -> None:
        parents = list(dict.fromkeys(place.rpartition("/")[0] for place in layout.places))
        states = self.board.states(parents)
        folders = [folder for folder in parents if states[folder] == "absent"]
        paths = {
            "token": token,
            "armed": self.armed,
            "links": " ".join(layout.places),
            "folders": " ".join(folders),
            "watch_s": str(watch_s),
        }
        text = "".join(f"{name}={shlex.quote(value)}\n" for name, value in paths.items())
        self.board.call("prepare", f"{HOOK_FOLDER}/paths")
        self._push(f"{HOOK_FOLDER}/paths", text.encode())  # first: what follows can be removed
        if layout.places:
            self.board.call("prepare", *layout.places)
        for name, content in files.items():
            self._push(f"{HOOK_FOLDER}/{name}", content)
        self._push(HOOK, self.script, 0o755)
        for place, unit in layout.units.items():
            self._push(place, unit.encode())
        for place, to in layout.links.items():
            self._call(["ln", "-s", to, place], f"make the link {place}")
        if layout.inittab is not None:
            self._edit_inittab(layout.inittab)
        self._call(["sync"], "write the hook to its disk")

    def _edit_inittab(self, text: str) -> None:
        ours = f"{HOOK_FOLDER}/inittab.ours"
        self._push(ours, text.encode(errors="surrogateescape"))
        # A copy of the old file keeps its mode and owner.
        edit = (
            f"cp -p {INITTAB} {HOOK_FOLDER}/inittab.before && sync && "
            f"cp -p {INITTAB} {INITTAB}.new && cat {ours} >{INITTAB}.new && sync && "
            f"mv -f {INITTAB}.new {INITTAB}"
        )
        self._call(["sh", "-c", edit], f"edit {INITTAB}")

    def _push(self, place: str, content: bytes, mode: int = 0o644) -> None:
        with tempfile.NamedTemporaryFile(prefix=prefix()) as file:
            file.write(content)
            file.flush()
            self.target.push(Path(file.name), place, mode)

    def _call(self, words: list[str], what: str) -> None:
        done = self.target.run(words, timeout_s=_STEP_S)
        if done.status:
            why = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise InstallError(
                f"the target could not {what}: {why or f'status {done.status}'}",
                "see why there: /etc may be full or read-only",
            )

    def _forget_units(self) -> None:
        if self.board.states([SYSTEMD_RUNS])[SYSTEMD_RUNS] == "absent":
            return
        names = ["foreread-boot-done.service", "foreread-boot.service"]
        with suppress(TargetError):
            self.target.run(["systemctl", "stop", *names], timeout_s=_STEP_S)
            self.target.run(["systemctl", "daemon-reload"], timeout_s=_STEP_S)
            self.target.run(["systemctl", "reset-failed", *names], timeout_s=_STEP_S)
