"""Record a whole boot of a target as a capture: by a hook that its init runs, over one reboot.

The hook (``boot_hook.sh``) is the first that the board's init starts; or it starts before init, by
``boot_init.sh`` in the place of the init program. It makes a job of its own in memory; this side
adopts that job when the board answers again, fetches its trace and ends it.
"""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from foreread.boards.base.interrupts import orderly_exit, uninterrupted
from foreread.boards.target import Target, TargetError
from foreread.tracer.backends.base import BOOT_EVENTS
from foreread.tracer.error import RecordError
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.formats.capture import Origin
from foreread.tracer.formats.seen import Seen
from foreread.tracer.install.boot_hook import HOOK_FOLDER, BoardHook
from foreread.tracer.remote import record
from foreread.tracer.remote.fetched import Fetched, Name, fetch
from foreread.tracer.remote.guarded_run import AWAIT_S
from foreread.tracer.remote.job import Job, facts, making_sense, part, script, settings_file
from foreread.tracer.remote.machine import Machine
from foreread.tracer.runs.options import Ending
from foreread.tracer.runs.output import no_space_as_error, output_directory
from foreread.tracer.runs.recording import RecordOptions

PARTS = (*record.PARTS, "boot.sh")
BOOT_S = 600.0
HOOK_SCRIPT, INIT_SCRIPT = "boot_hook.sh", "boot_init.sh"
_WATCH_S = 60  # how long a boot waits for the recorder
_BACK_S = 60.0  # how long an interrupted recording tries to reach the board again
_FETCH_S = 600  # how long the board keeps a recording that nobody fetches
_FIND = """for place in @HOOK@/memory /run /dev/shm /tmp /var/run /var/tmp; do
    [ ! -e "$place/foreread-$1/job.sh" ] || echo "place $place/foreread-$1"
done
read -r now _ </proc/uptime
echo "uptime $now"
dmesg 2>/dev/null | sed -n 's/.*foreread: this boot is not recorded: /why /p'""".replace(
    "@HOOK@", HOOK_FOLDER
)


@dataclass(frozen=True)
class BootEnding:
    """When a boot is over: at boot-done, or after a duration, or at a message, if that is given.

    ``output`` is an extended regular expression for a line of the kernel's log. ``within_s``: the
    board has to answer, and the boot to be over, within this time.
    """

    duration_s: float | None = None
    output: str | None = None
    within_s: float = BOOT_S

    @property
    def by_init(self) -> bool:
        """Whether the board's init says when it is over."""
        return self.duration_s is None and self.output is None


@contextmanager
def boot_on(
    target: Target, options: RecordOptions, ending: BootEnding, hook: BoardHook, output: Path
) -> Iterator[BootRun]:
    """Reboot ``target``, and yield that boot with its trace in the directory ``output``.

    ``options.run`` names the process that the kernel starts. The block names the files, which
    ends the job and removes the hook. Raises RecordError; the hook and what it changed are gone
    then, or the message says how to remove them.
    """
    Ending(ending.duration_s, None, ending.output).check()
    options = replace(options, events=BOOT_EVENTS)
    with ExitStack() as kept:
        kept.enter_context(orderly_exit())
        kept.enter_context(output_directory(output))
        kept.enter_context(no_space_as_error(output))
        options.tell("reading the target's facts")
        settings = _settings(target, options, ending, hook.origin)
        token = secrets.token_hex(8)
        brought = {
            "job.sh": script((*PARTS, "verb.sh")).encode(),
            "settings": settings_file(settings, options.run.command),
            "place.sh": part("place.sh"),
        }
        created = datetime.now(UTC).isoformat(timespec="seconds")
        with ExitStack() as opened:
            opened.enter_context(_installed(target, hook, brought, token, options))
            options.tell("rebooting the target, which records its boot")
            deadline = time.monotonic() + ending.within_s
            hook.arm()
            _reboot(target, ending.within_s, options.words)
            job = opened.enter_context(_BootJob(target, token))
            options.tell("the target answers; waiting for the end of its boot")
            _wait(job, deadline, ending)
            fetched = _fetched(job, target, options, created, output, opened)
            yield BootRun(target, fetched, opened, kept, hook)


class BootRun(record.TargetRun):
    """A boot that was recorded: its hook is on the target until files have names."""

    def __init__(
        self,
        target: Target,
        fetched: Fetched,
        opened: ExitStack,
        kept: ExitStack,
        hook: BoardHook,
    ) -> None:
        super().__init__(target, fetched, opened)
        self._kept, self._hook = kept, hook

    def name_files(self, seen: Seen, name: Name | None = None) -> None:
        """Name the files of ``seen``, write the capture, end the job and remove the hook."""
        super().name_files(seen, name)
        self._remove_hook()
        self._kept.close()

    def _remove_hook(self) -> None:
        """Remove the hook; a capture that is complete is kept, with a note, if that fails."""
        try:
            with uninterrupted():
                self._hook.remove()
        except (RuntimeError, OSError) as error:
            remedy = getattr(error, "remedy", "")
            note = f"the hook is still on the target: {error}: {remedy}"
            self.capture = structs.replace(self.capture, notes=[*self.capture.notes, note])
            capture_files.write(self.output, self.capture, self.files)


def _settings(
    target: Target, options: RecordOptions, ending: BootEnding, origin: Origin
) -> dict[str, str]:
    """Return the settings of the recorder, from what the target is before the reboot."""
    with Job(target, PARTS) as job:
        machine = Machine.parse(job.ask("probe", step="reading the target's facts"))
        with machine.devices() as devices:
            prepared = record.prepare(target, machine, devices, options)
            _, settings = record.described_settings(prepared, options)
        settings |= {
            "duration_s": "" if ending.duration_s is None else f"{ending.duration_s:.3f}",
            "until_output": ending.output or "",
            "boot_from": origin,
            "boot_s": str(round(ending.within_s) + _FETCH_S),
        }
        job.settings(settings, options.run.command)
        job.ask("claim", step="looking for another foreread there")
    return settings


@contextmanager
def _installed(
    target: Target,
    hook: BoardHook,
    brought: Mapping[str, bytes],
    token: str,
    options: RecordOptions,
) -> Iterator[None]:
    """Install the hook for a block, and take everything back if that fails."""
    hook.install(brought, token, _WATCH_S)
    try:
        yield
    except BaseException:
        with uninterrupted():
            if not _put_back(target, hook, token):
                options.tell(
                    "the target cannot be reached: it ends the recording and removes the hook by "
                    f"itself, or: {repair(options.words)}"
                )
        raise


def _put_back(target: Target, hook: BoardHook, token: str) -> bool:
    """End the recording and remove the hook; False if the board is out of reach for a minute."""
    end = time.monotonic() + _BACK_S
    while True:
        with suppress(TargetError, RecordError, OSError):
            with suppress(_NotRecorded), _BootJob(target, token):
                pass
            hook.remove()
            return True
        if time.monotonic() >= end:
            return False
        time.sleep(1.0)


def _reboot(target: Target, within_s: float, words: Sequence[str]) -> None:
    try:
        target.reboot(within_s)
    except TargetError as error:
        raise RecordError(
            f"the board did not come back: {error}. The hook acts once: a boot after a power "
            "cycle is as before",
            f"power-cycle the board, then remove what is left of the hook: {repair(words)}",
        ) from error


def repair(words: Sequence[str]) -> str:
    """Return the command that removes a hook from the target that the options ``words`` name."""
    named = [*words, "--target", "TARGET"]
    words_of_target = [
        word
        for option in ("--target", "--identity")
        if option in named
        for word in named[named.index(option) :][:2]
    ]
    return shlex.join(["foreread", "doctor", "--restore", *words_of_target])


class _NotRecorded(RecordError):
    """The board has booted, and its hook did not record that."""


class _BootJob(Job):
    """The job that the hook of the target has begun."""

    def __init__(self, target: Target, token: str) -> None:
        super().__init__(target, ())
        self._token = token

    def _begin(self) -> None:
        words = ["sh", "-c", _FIND, "sh", self._token]
        answer = self._run(words, "looking for the recording of the boot")
        with making_sense("where the recording is"):
            answers = {fact.key: fact.value for fact in facts(answer.stdout)}
            self.saw_clock(float(answers["uptime"]))
        if "place" not in answers:
            raise _NotRecorded(
                f"the boot was not recorded: {answers.get('why', 'the hook did not run')}",
                "see the board's console: it must boot once, and its init run the scripts in /etc; "
                "if its root is read-only at that time, give --state-dir a folder that is not",
            )
        self.folder = answers["place"]


def _wait(job: Job, deadline: float, ending: BootEnding) -> None:
    """Return when the boot is over. Ctrl-C ends the recording and keeps it."""
    interrupted = False
    while True:
        try:
            if interrupted and job.ask("stop", step="ending the recording")[:1]:
                raise KeyboardInterrupt  # it had not begun
            answer = job.ask("await", str(AWAIT_S), step="waiting for the boot", within_s=AWAIT_S)
            if any(fact.key == "state" and fact.value == "over" for fact in answer):
                return
            if time.monotonic() > deadline:
                raise RecordError(
                    f"the boot was not over within {ending.within_s:g} s",
                    "say when it is over: --duration S, or --until-output REGEX",
                )
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True


def _fetched(
    job: Job,
    target: Target,
    options: RecordOptions,
    created: str,
    output: Path,
    opened: ExitStack,
) -> Fetched:
    """Fetch the recorded boot, with its disks and mounts."""
    machine = Machine.parse(job.ask("probe", step="reading the target's facts"))
    devices = opened.enter_context(machine.devices())
    prepared = record.prepare(target, machine, devices, options)
    described, _ = record.described_settings(prepared, options)
    return fetch(job, prepared, described, created, options, output)


def init_command(target: Target) -> Sequence[str]:
    """Return the words of the first process of the target."""
    cmdline = target.run(["cat", "/proc/1/cmdline"]).stdout.decode(errors="surrogateescape")
    words = [word for word in cmdline.split("\0") if word]
    return words or ["/sbin/init"]


def with_init(options: RecordOptions, target: Target) -> RecordOptions:
    """Return ``options`` with the target's first process as the command."""
    return replace(options, run=replace(options.run, command=list(init_command(target))))
