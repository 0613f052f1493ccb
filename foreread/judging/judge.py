"""``doctor --judge``: compares the emulated readahead with the kernel of a board, or of here."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.load import load
from foreread.analyzer.judge.comparing import Difference
from foreread.analyzer.judge.expected import Emulated, Expected
from foreread.analyzer.judge.programs import programs
from foreread.analyzer.judge.run import Compared, Files, compare, extent_table
from foreread.analyzer.predict.inputs import machine_of
from foreread.boards.base.brief import brief
from foreread.boards.base.counted import plural
from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.base.scratch import scratch_folder
from foreread.boards.base.silent import silent
from foreread.boards.base.units import KIB, kib_to_pages, pages_to_kib
from foreread.boards.judged import JudgedKernel, prepare_list, store
from foreread.boards.open import LOCAL, open_target
from foreread.boards.target import Target
from foreread.checks import checked_path, key_of
from foreread.emulator.linux.filesystems import has_large_folios
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.judging.steps import runner_steps
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import Capture
from foreread.tracer.remote.judged import JudgeFiles, judge_files
from foreread.tracer.remote.record import record_on
from foreread.tracer.runner.executable import FAILED, executable
from foreread.tracer.runs.options import RunOptions, Streams
from foreread.tracer.runs.recording import RecordOptions
from foreread.version import VERSION

WINDOWS_KB = (0, 16, 32, 128, 512)  # and the page itself
_EVENTS = (
    "filemap:mm_filemap_add_to_page_cache",
    "block:block_rq_issue",
    "block:block_rq_complete",
    "sched:sched_process_fork",
    "sched:sched_process_exec",
    "sched:sched_process_exit",
)
_PAUSE_MS = 10
_LONGER_PAUSES_MS = (200, 1000)  # a shared disk may be slow for a while
_FIRST_AGAIN = 3  # programs that are first run again where the disk may be slower than the pause
__all__ = ["WINDOWS_KB", "Judgement", "judge"]


@dataclass(frozen=True, repr=False)
class Judgement:
    """A kernel's reads compared with the emulation's: figures over all windows, first difference.

    ``repeated`` are the programs that agreed only with longer pauses, because of a slow disk.
    """

    __repr__ = brief

    kernel: JudgedKernel
    mountpoint: str
    disk: str
    stored: Path
    folios: int
    requests: int
    merged: int
    uncompared: int
    repeated: int
    seconds: float
    difference: Difference | None
    unjudged: tuple[str, ...]

    @property
    def confirmed(self) -> bool:
        """Whether the kernel did all that the emulation does, and nothing else."""
        return self.difference is None


def judge(
    *,
    target: str = LOCAL,
    identity: StrPath | None = None,
    folder: StrPath | None = None,
    wait_s: float = 0.0,
    tell: Callable[[str], None] = silent,
) -> Judgement:
    """Compare the emulated readahead with a target's kernel, and store the result.

    Generated programs read and map files of their own, cold, at several windows; their pages and
    requests are compared with the emulation. Needs root there, and about a minute.

    Args:
        target: the machine, as in :func:`foreread.record`.
        identity: private key that logs in to an ssh target.
        folder: a folder of the target on the disk under test; None: the first that is on one.
        wait_s: how long to wait for another foreread that holds the machine's settings.
        tell: is called with each step, in words.

    Raises:
        tracer.error.RecordError: the kernel cannot be judged; ``remedy`` says what to do.
        boards.target.TargetError: the target cannot be reached.
        emulator.linux.rules.KernelError: a kernel without any rules.
    """
    place = None if folder is None else str(checked_path(folder, "folder"))
    prepare_list()
    begun = time.monotonic()
    with (
        orderly_exit(),
        open_target(target, identity=key_of(identity), tell=tell) as opened,
        judge_files(opened, place) as files,
        scratch_folder("judge") as scratch,
    ):
        judge_ = _Judge(opened, files, Path(scratch), wait_s, tell)
        total = judge_.all_windows()
    kernel = _judged(files, judge_, total)
    return Judgement(
        kernel=kernel,
        mountpoint=files.mount.mountpoint,
        disk=files.disk,
        stored=store(kernel),
        folios=total.folios,
        requests=total.requests,
        merged=total.merged,
        uncompared=total.uncompared,
        repeated=judge_.repeated,
        seconds=time.monotonic() - begun,
        difference=next(iter(total.differences.values()), None),
        unjudged=tuple(judge_.unjudged()),
    )


@dataclass
class _Judge:
    """The programs on a target's files, recorded window by window."""

    target: Target
    files: JudgeFiles
    scratch: Path
    wait_s: float
    tell: Callable[[str], None]
    repeated: int = 0
    judged_kb: list[int] = field(default_factory=list)  # windows that were compared

    def __post_init__(self) -> None:
        """Emulate everything beforehand: where reads are ahead decides the runner's pauses."""
        machine, mount = self.files.machine, self.files.mount
        version = version_of(machine.kernel)
        with machine.devices() as devices:
            queue = devices.queue(self.files.disk)
            self._dev = devices.disk(self.files.disk).dev
        wide = "64" in machine.machine or machine.machine == "s390x"
        state, self.limits = machine_of(machine.page_size, machine.machine, queue)
        options = f"{mount.options},{mount.super_options}"
        large = wide and machine.huge_pages and has_large_folios(mount.fstype, options, version)
        self.tasks = programs(machine.page_size)
        self.emulated = Emulated(self.tasks, rules_for(version), state, large)
        page_kb = machine.page_size // KIB
        self.windows_kb = sorted({kb for kb in (*WINDOWS_KB, page_kb) if kb == 0 or kb >= page_kb})
        self.expected = [self.emulated.at(kb // page_kb) for kb in self.windows_kb]

    def all_windows(self) -> Compared:
        """Write the files, run all programs at each window, and compare; return all together."""
        mib = round(sum(task.size for task in self.tasks) / 2**20)
        self.tell(
            f"writing {plural(len(self.tasks), 'file')} of {mib} MiB in all to {self.files.folder}"
        )
        self._bring(frozenset(range(len(self.tasks))), _PAUSE_MS)  # an unknown machine fails early
        self.files.write([task.size for task in self.tasks])
        extents = self.files.extents()
        first = self.files.first_sector
        self.places = Files(
            dev=self.files.mount.dev,
            disk=self._dev,
            inodes=self.files.inodes,
            extents=None if extents is None else [extent_table(each, first) for each in extents],
            limits=self.limits,
        )
        total = Compared()
        for row, kb in enumerate(self.windows_kb):
            compared = self._window(kb, self.expected[row])
            total.folios += compared.folios
            total.requests += compared.requests
            total.merged += compared.merged
            total.uncompared += compared.uncompared
            self.judged_kb.append(kb)
            if compared.differences:
                total.differences = compared.differences
                break
        return total

    def unjudged(self) -> list[str]:
        """Return the subjects that the judgement does not cover."""
        others = ["starts with several threads", "huge pages", "seconds (foreread confirm, sweep)"]
        if self.places.extents is None:
            fstype = self.files.mount.fstype
            return [f"requests: the places of files on {fstype} are unknown", *others]
        return others

    def _window(self, kb: int, expected: list[Expected]) -> Compared:
        everything = frozenset(range(len(self.tasks)))
        compared = self._recorded(kb, expected, everything)
        if compared.differences:  # a page that was still being read shows as a difference, too
            compared.differences = self._persistent(kb, expected, sorted(compared.differences))
            self._bring(everything, _PAUSE_MS)
        return compared

    def _persistent(
        self,
        kb: int,
        expected: list[Expected],
        rows: list[int],
        pauses_ms: Sequence[int] = _LONGER_PAUSES_MS,
    ) -> dict[int, Difference]:
        """Return the first differences that longer pauses do not remove.

        Runs few programs at first: one that differs again decides. As long as all agree, the disk
        was slow for a while, and each repetition has twice as many.
        """
        count, (pause_ms, *longer_ms) = _FIRST_AGAIN, pauses_ms
        while rows:
            again, rows = frozenset(rows[:count]), rows[count:]
            self.tell(f"repeating {len(again)} of the programs with longer pauses")
            self._bring(again, pause_ms)
            lasting = self._recorded(kb, expected, again).differences
            self.repeated += len(again) - len(lasting)
            if lasting and longer_ms:
                lasting = self._persistent(kb, expected, sorted(lasting), longer_ms)
            if lasting:
                return lasting
            count *= 2
        return {}

    def _recorded(self, kb: int, expected: list[Expected], rows: frozenset[int]) -> Compared:
        self.files.keep()
        output = self.scratch / str(len(list(self.scratch.iterdir())))
        run = RunOptions([self.files.runner], allow_warm=True, streams=Streams())
        options = RecordOptions(
            run=run,
            read_ahead_kb=kb,
            events=_EVENTS,
            wait_s=self.wait_s,
            foreread=VERSION,
            note_mapped=False,
        )
        self.tell(f"running {len(rows)} programs, cold, with a window of {kb} KiB")
        capture = record_on(self.target, options, output)
        _check(kb, capture)
        in_force = {device.name: device.read_ahead_kb for device in capture.devices}
        if in_force.get(self.files.disk) != kb:
            raise RecordError(
                f"a window of {kb} KiB does not take effect on {self.files.disk}: it stays at "
                f"{in_force.get(self.files.disk)} KiB",
                "choose a folder on another disk: --folder DIR",
            )
        window = kib_to_pages(kb, self.files.machine.page_size)
        return compare(self.emulated, expected, load(output), self.places, window, rows)

    def _bring(self, rows: frozenset[int], pause_ms: int) -> None:
        machine = self.files.machine
        paths = [self.files.path(number) for number in range(len(self.tasks))]
        steps = list(runner_steps(self.emulated, paths, self.expected, rows))
        self.files.bring_runner(
            executable(steps, machine.machine, machine.byte_order, pause_ms=pause_ms)
        )


def _check(kb: int, capture: Capture) -> None:
    """Raise RecordError unless the programs ran to their end, and every event was recorded."""
    if capture.ended_by == "signal":
        raise KeyboardInterrupt  # Ctrl-C: a recording keeps what it has, a judgement ends
    if capture.exit_status != 0:
        status = capture.exit_status
        call = next((name for name, number in FAILED.items() if number == status), None)
        why = f"its {call} failed" if call else f"status {status}, signal {capture.signal}"
        raise RecordError(
            f"the program runner did not do all of its steps on the target: {why}",
            "see the target's kernel log, and that its kernel has pread64, mmap and fadvise64",
        )
    if lost := sum(capture.lost.values()):
        raise RecordError(
            f"{plural(lost, 'event', 'was')} lost at a window of {kb} KiB",
            "end what else reads files there, and repeat",
        )


def _judged(files: JudgeFiles, judge_: _Judge, compared: Compared) -> JudgedKernel:
    machine = files.machine
    first = next(iter(compared.differences.values()), None)
    return JudgedKernel(
        result="different" if first else "confirmed",
        date=datetime.now(UTC).date().isoformat(),
        foreread=VERSION,
        release=machine.kernel,
        version=machine.version,
        machine=machine.machine,
        page_size=machine.page_size,
        file_system=files.mount.fstype,
        programs=len(judge_.tasks),
        windows_kb=judge_.judged_kb,
        requests_compared=judge_.places.extents is not None,
        difference=difference_text(first, machine.page_size) if first else "",
    )


def difference_text(difference: Difference, page_size: int) -> str:
    """Say in one sentence where a kernel first read otherwise."""
    task, step = difference.task, difference.step
    kb = pages_to_kib(difference.window, page_size)
    return (
        f'program "{task.name}" (a file of {task.size} bytes), window {kb} KiB, step {step + 1}, '
        f"which {task.describe(step)}: the emulation reads {difference.expected}, this kernel read "
        f"{difference.seen}"
    )
