"""Records a whole boot of a target, over one reboot, by a hook that is removed after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from foreread.analyzer.ingest.arguments import StrPath
from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.base.silent import silent
from foreread.boards.open import LOCAL, open_target
from foreread.boards.target import Target
from foreread.checks import checked_number, checked_path, key_of
from foreread.error import ArgumentError
from foreread.recording.steps import recorded
from foreread.recording.words import target_words, words_of_boot
from foreread.tracer.formats.capture import Capture, Origin
from foreread.tracer.install.boot_hook import HOOK_FOLDER, BoardHook
from foreread.tracer.remote.boot import (
    BOOT_S,
    HOOK_SCRIPT,
    INIT_SCRIPT,
    BootEnding,
    boot_on,
    repair,
    with_init,
)
from foreread.tracer.remote.job import part
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.output import recording_folder
from foreread.tracer.runs.recording import RecordOptions
from foreread.version import VERSION


def record_boot(
    output: StrPath,
    *,
    target: str,
    identity: StrPath | None = None,
    duration_s: float | None = None,
    until_output: str | None = None,
    within_s: float | None = None,
    read_ahead_kb: int = 0,
    buffer_kib: int | None = None,
    probes: bool = False,
    probe_disk: bool = True,
    search_s: float | None = None,
    state_dir: str = HOOK_FOLDER,
    start: Origin = "scripts",
    wait_s: float = 0.0,
    tell: Callable[[str], None] = silent,
) -> Capture:
    """Reboot ``target``, record that boot into ``output``, and return its metadata.

    A hook that the target's init runs first does it: it acts at the next boot and at no other, and
    it is removed when the capture has been fetched. The boot is over when the last init script, or
    multi-user.target, has been reached.

    Args:
        output: the capture, a folder or an archive, as for :func:`foreread.record`.
        target: the machine, as for :func:`foreread.record`; not this one.
        identity: private key that logs in to an ssh target.
        duration_s: the boot is over after this time instead.
        until_output: the boot is over when a line of the kernel's log matches this extended regular
            expression instead.
        within_s: how long the target may take to answer and to boot; None: ten minutes.
        read_ahead_kb: window during the boot; any but 0 makes a contaminated capture.
        buffer_kib: trace buffer per CPU; None: by the target's memory.
        probes: use kernel probes where the target's kernel lacks events.
        probe_disk: read the disk for about one second after the boot, to measure its cost.
        search_s: how long paths of files are looked up; None: 60 s.
        state_dir: folder of the target for the file that arms the hook. It has to survive a power
            cut, and to be writable when init runs its first script.
        start: "scripts" records from the first script that init runs; "init" from the first
            process, so that init, generators and early services are recorded, too.
        wait_s: how long to wait for another foreread that holds the target's settings.
        tell: is called with each step, in words.

    Raises:
        ArgumentError: arguments that make no sense.
        tracer.error.RecordError: the boot cannot be recorded; ``remedy`` says what to do.
        tracer.error.InstallError: the hook cannot be installed; the target is unchanged.
        boards.target.TargetError: the target cannot be reached.
    """
    if target == LOCAL:
        raise ArgumentError(
            "this machine cannot record its own boot", "name another: --target ssh://root@BOARD"
        )
    if start not in get_args(Origin):
        raise ArgumentError(f"start={start!r} is unknown", "give 'scripts' or 'init'")
    if start == "init" and state_dir != HOOK_FOLDER:
        raise ArgumentError(
            f"state_dir {state_dir!r}: when the kernel starts init, only the root is mounted",
            "leave out state_dir",
        )
    ending = BootEnding(duration_s, until_output, BOOT_S if within_s is None else within_s)
    words = (
        *target_words(target, key_of(identity)),
        *(["--probes"] if probes else []),
        *words_of_boot(duration_s, until_output, read_ahead_kb, start),
    )
    options = RecordOptions(
        run=RunOptions(["/sbin/init"]),
        read_ahead_kb=checked_number(read_ahead_kb, "read_ahead_kb"),
        buffer_kib=buffer_kib,
        probes=probes,
        wait_s=wait_s,
        foreread=VERSION,
        words=words,
        search_s=search_s,
        tell=tell,
    )
    with (
        orderly_exit(),
        recording_folder(checked_path(output, "output")) as folder,
        open_target(target, identity=key_of(identity), tell=tell) as opened,
    ):
        hook = BoardHook(
            opened,
            part(HOOK_SCRIPT),
            done=ending.by_init,
            stand_in=part(INIT_SCRIPT) if start == "init" else None,
            state_dir=state_dir,
            repair=repair(words),
        )
        booting = boot_on(opened, with_init(options, opened), ending, hook, folder)
        return recorded(booting, probe_disk)


def remove_boot_hook(target: Target) -> bool:
    """Remove what an interrupted ``record_boot`` left on a target; return whether it left anything.

    Raises InstallError, and TargetError if the target is out of reach.
    """
    return BoardHook(target, part(HOOK_SCRIPT), done=True).remove()
