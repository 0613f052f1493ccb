"""The hook that records one boot of a board: where its init finds it, and how it gets there.

The hook itself is ``tracer/remote/boot_hook.sh``. It goes where the boot script would go, but runs
first. To record from init, ``tracer/remote/boot_init.sh`` stands in for the init program and
starts the hook.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from foreread.boards.base.printable import printable
from foreread.boards.base.scratch import prefix
from foreread.boards.target import Target, TargetError
from foreread.tracer.error import InstallError
from foreread.tracer.formats.capture import Origin
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
MEMORY = f"{HOOK_FOLDER}/memory"  # where the recording is kept if init would mount over /run
_STEP_S = 60.0
_PATH = re.compile(r"(/[\w.+-]+)+", re.ASCII)
_FROM_SCRIPTS = "record from the first init script: leave out --from init"
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
class InitProgram:
    """The program that the kernel starts as process 1.

    ``keeps_run``: it uses a /run that is mounted already.
    The hook knows the places of ``beside`` and ``before``, too.
    """

    path: str
    keeps_run: bool

    @property
    def folder(self) -> str:
        """Its folder."""
        return self.path.rpartition("/")[0] or "/"

    @property
    def beside(self) -> str:
        """The folder of the stand-in."""
        return f"{self.path.rpartition('/')[0]}/.foreread-init"

    @property
    def before(self) -> str:
        """Its name while the stand-in has its place."""
        return f"{self.path.rpartition('/')[0]}/.{self.path.rpartition('/')[2]}.foreread-before"


@dataclass(frozen=True)
class HookLayout:
    """What makes an init run the hook: units, links by place, or a changed inittab.

    ``program``: the init program that the stand-in replaces.
    """

    units: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    inittab: str | None = None
    program: InitProgram | None = None

    @property
    def places(self) -> list[str]:
        """Every file and link, the links first."""
        return [*self.links, *self.units]


def hook_layout(
    init: Init,
    done: bool,
    inittab: str = "",
    rcs: str = "",
    armed: str = ARMED,
    start: bool = True,
) -> HookLayout:
    """Return what makes ``init`` run the hook first, and with ``done`` at the end of the boot, too.

    Without ``start`` init does not start it. Raises InstallError if nothing on the board would run
    the hook.
    """
    if init == "systemd":
        units, wanted = {}, {}
        if start:
            units["foreread-boot"] = _UNIT.replace("@ARMED@", armed)
            wanted["foreread-boot"] = "sysinit"
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
        return _by_links("/etc/rc.d/S00" if start else "", ["/etc/rc.d/S99z"] if done else [])
    if init == "sysv":  # /run is mounted by S02
        levels = [f"/etc/rc{level}.d/S99" for level in (2, 3, 4, 5)]
        return _by_links("/etc/rcS.d/S04" if start else "", levels if done else [])
    folder = rcs_folder(inittab, rcs)
    if folder is None:
        return HookLayout(
            inittab=with_first_line(inittab, HOOK, start, done) if start or done else None
        )
    return _by_links(f"{folder}/S00" if start else "", [f"{folder}/S99"] if done else [])


def _by_links(first: str, last: Iterable[str]) -> HookLayout:
    names = [f"{first}foreread-boot"] if first else []
    names += [f"{place}foreread-boot-done" for place in last]
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

    ``stand_in``: the program that starts the hook in the place of init; without it, init does.
    ``state_dir`` is where the file is that arms it: it must survive a power cut. ``repair`` is the
    command that removes the hook.
    """

    def __init__(
        self,
        target: Target,
        script: bytes,
        *,
        done: bool,
        stand_in: bytes | None = None,
        state_dir: str = HOOK_FOLDER,
        repair: str = "foreread doctor --restore --target TARGET",
    ) -> None:
        self.board, self.target = BoardAccess(target), target
        self.script, self.done, self.repair = script, done, repair
        self.stand_in = stand_in
        self.armed = f"{state_dir.rstrip('/')}/{ARMED.rpartition('/')[2]}"

    @property
    def origin(self) -> Origin:
        """Where a recorded boot begins."""
        return "scripts" if self.stand_in is None else "init"

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
        start = self.stand_in is None
        layout = hook_layout(init, self.done, facts.inittab, facts.rcs, self.armed, start)
        return layout if start else replace(layout, program=self._program(init))

    def _program(self, init: Init) -> InitProgram:
        """Return the program that the kernel starts as process 1; raises InstallError."""
        words = [w for w in self.board.text("/proc/cmdline").split() if w.startswith("init=")]
        path = words[-1].removeprefix("init=") if words else "/sbin/init"
        program = InitProgram(path, keeps_run=init == "systemd")
        facts = self.board.look(program.folder)
        resolved = self.target.run(["readlink", "-f", path], timeout_s=_STEP_S).stdout
        runs = resolved.decode(errors="replace").removesuffix("\n")
        if not _PATH.fullmatch(path) or (runs != facts.exe and init != "procd"):
            raise InstallError(
                f"the kernel of the target starts {printable(path)}, but process 1 is "
                f"{printable(facts.exe)}: foreread cannot stand in for it",
                _FROM_SCRIPTS,
            )
        if obstacle := facts.obstacle(program.folder):
            raise InstallError(f"{program.folder} of the target {obstacle}", _FROM_SCRIPTS)
        if not facts.on_one_mount(program.folder, "/etc"):
            raise InstallError(
                f"{path} and /etc of the target are on different mounts: when the kernel starts "
                "init, /etc is not mounted",
                _FROM_SCRIPTS,
            )
        return program

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
            "init": layout.program.path if layout.program else "",
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
        if layout.program is not None and self.stand_in is not None:
            self._put_stand_in(layout.program, self.stand_in)
        self._call(["sync"], "write the hook to its disk")

    def _put_stand_in(self, program: InitProgram, text: bytes) -> None:
        """Put the stand-in into the place of the init program, last: it finds everything there."""
        folders = [program.beside] if program.keeps_run else [program.beside, MEMORY]
        self._call(["mkdir", *folders], f"make {program.beside}")
        stand_in, new = f"{program.beside}/stand-in", f"{program.beside}/new"
        self._push(stand_in, text, 0o755)
        named = f"{program.beside}/{program.path.rpartition('/')[2]}"
        self._call(["ln", "-s", program.before, named], f"make the link {named}")
        self._call(["ln", program.path, program.before], f"make another link to {program.path}")
        self._call(["ln", stand_in, new], f"make another link to {stand_in}")
        self._call(["sync"], "write the hook to its disk")
        self._call(["mv", "-f", new, program.path], f"replace {program.path}")

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
