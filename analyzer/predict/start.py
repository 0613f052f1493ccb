"""One recorded start-up, ready to be replayed in time under any window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import is_
from typing import TYPE_CHECKING

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import REQUESTS, Array, Table
from foreread.analyzer.predict import remedy
from foreread.analyzer.predict.basis import Answer, lacking
from foreread.analyzer.predict.disk.device_model import DeviceModelError, UnexplainedError
from foreread.analyzer.predict.disk.probed import (
    LimiterUnknownError,
    device_of_probe,
    page_cost,
    probe_of,
)
from foreread.analyzer.predict.inputs import Inputs, inputs
from foreread.analyzer.predict.prediction import MINOR_SHARE, Prediction
from foreread.analyzer.program.cold import ColdSamples, cold_samples
from foreread.analyzer.program.cpu import CpuSamples, cpu_samples, event_cost
from foreread.analyzer.program.frame import frame_of
from foreread.analyzer.program.inode_tables import InodeTables, read_ahead, tables_of
from foreread.analyzer.program.plug import unplugged_ns, with_plugs
from foreread.analyzer.program.steps import Steps
from foreread.analyzer.program.thread_steps import steps_in_time
from foreread.boards.base.brief import brief
from foreread.boards.base.counted import plural
from foreread.boards.base.note import Note, NoteKind
from foreread.emulator.devices.device import DeviceModel, FixedCost
from foreread.emulator.devices.measured import Measured
from foreread.emulator.devices.paced import Paced
from foreread.emulator.devices.stateful import Stateful
from foreread.emulator.linux.requests import Layout
from foreread.emulator.linux.rules import Version, rules_for, version_of
from foreread.emulator.linux.steps import CpuCost, Run, Timed
from foreread.emulator.linux.timed_windows import Case, timed_cases, total_ns
from foreread.tracer.formats.capture import dev_text
from foreread.tracer.formats.scenario import IDLE

if TYPE_CHECKING:
    from foreread.analyzer.program.opening import Opening

MOST_REQUESTS = 1 << 20  # of a queue that is never full


class EvidenceError(DeviceModelError):
    """A recording that lacks evidence which all seconds need; ``remedy`` records again."""


@dataclass(frozen=True, eq=False)
class Start:
    """The steps to replay, with the device and the processor; ``inputs``: what they are made from.

    ``disk`` is the dev_t of the disk with the varied window; ``cpu_samples`` are the samples that
    ``cpu`` was estimated from, None without samples. Readahead spares each fault's read
    ``unplugged_ns``. ``requests`` are the disk's. ``recorded_on`` is the disk that the start was
    recorded on, known only where ``device`` was given. Steps of thread ``strangers`` are reads of
    other processes, but not of a load beside the start. ``notes`` list the assumptions. ``threads``
    are the thread ids by thread of the run; empty if it is one sequence. ``recorded_ns`` is the
    duration of the recorded steps, and ``unlinked_ns`` the latest start of a thread with an unknown
    parent, 0 if there is none.
    ``inode_tables`` are read ahead in the run, and were not in the recorded run.
    ``version`` is the kernel of the readahead. ``openings``: ``opening``, once it was needed;
    starts with other runs share it. Beside a load, ``run`` has the load's threads, with little
    memory a limit, and ``alone`` is the run without them (analyzer/load); else it is None.
    """

    __repr__ = brief

    inputs: Inputs
    disk: int
    run: Run
    device: DeviceModel
    cpu: CpuCost
    cpu_samples: CpuSamples | None
    unplugged_ns: float
    notes: tuple[Note, ...]
    requests: Table
    recorded_on: DeviceModel | None = None
    strangers: int = -1
    threads: tuple[int, ...] = ()
    recorded_ns: float = 0.0
    unlinked_ns: float = 0.0
    inode_tables: tuple[InodeTables, ...] = ()
    version: Version = ()
    openings: list[Opening] = field(default_factory=list, repr=False)
    alone: Run | None = None

    @property
    def recording(self) -> Recording:
        """The recording that the start is prepared from."""
        return self.inputs.recording

    @property
    def shows_later_uses(self) -> bool:
        """Whether the recording shows which pages are used again (analyzer/ingest/reclaimed.py)."""
        return not self.run.machine.code_stays

    @property
    def times(self) -> Array:
        """When the recorded run executed the operations of the disk (ns of the trace clock)."""
        return np.asarray(self.inputs.times[_of_disk(self.inputs, self.disk)])

    @property
    def opening(self) -> Opening:
        """The cost of opening files; only a replayer that runs with the start needs it."""
        from foreread.analyzer.program.opening import opening_of  # noqa: PLC0415  (few need it)

        if not self.openings:
            self.openings.append(opening_of(self.recording, self.requests))
        return self.openings[0]

    def as_recorded(self) -> Start:
        """Return the start as it was recorded: without readahead in inode tables."""
        if not self.inode_tables:
            return self
        return replace(self, run=read_ahead(self.run, self.inode_tables, 0)[0])

    @property
    def idle(self) -> Start:
        """The start without the load beside it, with memory to spare."""
        return self if self.alone is None else replace(self, run=self.alone, alone=None)

    def recorded_s(self, replayed_s: float) -> float:
        """Return the seconds of the recorded run's replay; ``replayed_s`` are the run's at 0."""
        return replayed_s + self._spared_s

    @cached_property
    def _spared_s(self) -> float:
        """The seconds that readahead in inode tables spares at a window of 0."""
        if not self.inode_tables:
            return 0.0
        idle = self.idle
        with_readahead, without = (start.timed([0])[0] for start in (idle, idle.as_recorded()))
        return (without.total_ns - with_readahead.total_ns) / 1e9

    def without_strangers(self) -> Start | None:
        """Return the start without the reads of other processes; None if there are none."""
        steps = self.run.steps
        theirs = (steps["thread"] == self.strangers) & (steps["sectors"] > 0)
        if self.strangers < 0 or not theirs.any():
            return None
        kept = steps.copy()
        for name in ("sectors", "sleep_ns", "cpu_ns"):
            kept[name][theirs] = 0
        return replace(self, run=replace(self.run, steps=kept))

    def reading_ahead(self, run: Run, before: Timed, cpu: CpuCost) -> tuple[Run, CpuCost]:
        """Return a run under any window but 0, and its processor's cost.

        There readahead spares the requests' wait for a plug. ``before`` is the run at window 0.
        """
        return self.plugged(run, before), self.spared(cpu)

    def plugged(self, run: Run, before: Timed) -> Run:
        """Return a run without the requests' wait for a plug; ``before`` is it at window 0."""
        return with_plugs(run, before, self.unplugged_ns) if self.unplugged_ns else run

    def spared(self, cpu: CpuCost) -> CpuCost:
        """Return the processor's cost without the requests' wait for a plug."""
        if not self.unplugged_ns:
            return cpu
        return replace(cpu, request_ns=max(cpu.request_ns - self.unplugged_ns, 0.0))

    def drawn(self, rng: np.random.Generator) -> Start:
        """Return the start with another possible device, and another cost of the processor."""
        device = self.device.perturbed(rng)
        cpu = self.cpu_samples.cost(rng) if self.cpu_samples else self.cpu
        return replace(self, device=device, cpu=cpu)

    def timed(self, windows: Sequence[int], recorded: Timed | None = None) -> list[Timed]:
        """Replay the run under each of ``windows`` (pages).

        ``recorded`` is the recorded run, if it differs from the run at window 0.
        """
        before = recorded or timed_cases([self._without_cost])[0]
        return timed_cases(self._cases(windows, before, self.plugged(self.run, before)))

    def drawn_seconds(
        self,
        windows: Sequence[int],
        generators: Sequence[np.random.Generator],
        recorded: Timed | None = None,
    ) -> Array:
        """Return the seconds (draws × windows) of a draw of each of ``generators``, in order.

        ``recorded`` as in ``timed``.
        """
        draws = [self.drawn(rng) for rng in generators]
        if recorded is None:
            before = timed_cases([draw._without_cost for draw in draws])
            plugged = [self.plugged(self.run, replay) for replay in before]
        else:
            before = [recorded] * len(draws)
            plugged = [self.plugged(self.run, recorded)] * len(draws)
        cases = [
            case
            for draw, replay, run in zip(draws, before, plugged, strict=True)
            for case in draw._cases(windows, replay, run)
        ]
        return total_ns(cases).reshape(len(draws), len(windows)) / 1e9

    @property
    def _without_cost(self) -> Case:
        """The run at window 0 without a load, with the computing of the recorded run."""
        return Case(self.alone or self.run, 0, self.device)

    def _cases(self, windows: Sequence[int], before: Timed, plugged: Run) -> list[Case]:
        """Return the run under each window; ``before`` and ``plugged`` as of ``plugged``."""
        device, spared = self.device, self.spared(self.cpu)
        return [
            Case(plugged, window, device, spared, before)
            if window
            else Case(self.run, 0, device, self.cpu, before)
            for window in windows
        ]


def prepare(start_inputs: Inputs, version: Version, device: DeviceModel | None = None) -> Start:
    """Return a recording's run; ``device`` is learnt from the recording if it is None.

    Raises DeviceModelError if seconds cannot be predicted; its remedy is the command to type.
    """
    recording = start_inputs.recording
    for why in lacking(recording, Answer.SECONDS):
        raise EvidenceError(why, remedy.record_again(recording))
    row = _disk_row(start_inputs)
    disk, reads = start_inputs.disks[row], start_inputs.reads[row]
    requests, own, each_ns = reads.requests, reads.own, event_cost(recording.trace.events)
    # Beside a load requests wait for those of others: they do not show what the disk costs.
    shown = requests if recording.capture.scenario == IDLE else Table.empty(REQUESTS)
    used, source = _device_in_use(recording, disk, shown, each_ns, device)
    machine, limits = start_inputs.machine(row)
    if isinstance(used, Paced):  # the limiter holds bios before they become requests
        limits = replace(limits, nr_requests=MOST_REQUESTS)
    here = _of_disk(start_inputs, disk)
    program = replace(start_inputs.program, operations=start_inputs.program.operations[here])
    longer = unplugged_ns(recording, disk, requests["sector"][own])
    blocks = start_inputs.blocks
    if blocks is not None:
        own = own & blocks.reads(requests["sector"])
    steps = steps_in_time(recording, program, start_inputs.times[here], requests, own)
    rules, layout = rules_for(version), Layout(start_inputs.extents)
    both = (steps.cpus, steps.ends)
    run = Run(program, steps.steps, steps.tail_ns, rules, machine, limits, layout, *both)
    tables = tables_of(recording, disk)
    run, _ = read_ahead(run, tables, apart=isinstance(used, Paced))
    samples = cpu_samples(recording) if blocks is None else None
    probe = probe_of(recording.probe, dev_text(disk))
    cold = cold_samples(probe.computing) if probe else None
    if samples:  # without a request there is no wait to return from
        cached = page_cost(probe, recording.page_size)
        wake, checked = samples.wake + steps.back_ns, steps.checked_ns
        samples = replace(samples, wake=wake, cached_page=cached, checked=checked, cold=cold)
    cpu = samples.cost() if samples else _in_blocks(blocks.cpu if blocks else CpuCost(), cold)
    return Start(
        inputs=start_inputs,
        disk=disk,
        run=run,
        device=used,
        cpu=cpu,
        cpu_samples=samples,
        unplugged_ns=longer,
        notes=tuple(_notes(source, used, cpu, steps, bool(here.all()))),
        requests=requests,
        recorded_on=None if device is None else _own_disk(recording, disk, requests, each_ns),
        strangers=steps.strangers,
        threads=steps.threads,
        recorded_ns=steps.total_ns,
        unlinked_ns=steps.unlinked_ns,
        inode_tables=tables,
        version=version,
    )


def _in_blocks(cpu: CpuCost, cold: ColdSamples | None) -> CpuCost:
    """Return the cost of a start that reads compressed blocks, with that of computing after it."""
    if cold is None:
        return cpu
    cold_ns, cold_share = cold.cost()
    return replace(cpu, cold_ns=cold_ns, cold_share=cold_share)


def starts_of(
    prediction: Prediction, recordings: Sequence[Recording], device: DeviceModel | None = None
) -> tuple[Start, ...]:
    """Return the starts that a prediction was made from; prepared anew for other recordings.

    ``device`` is what the prediction was made with. Raises as ``prepare``.
    """
    own = [start.recording for start in prediction.starts]
    if len(own) == len(recordings) and all(map(is_, own, recordings)):
        return prediction.starts
    version = version_of(prediction.model.removeprefix("linux-"))
    return tuple(prepare(inputs(each, version), version, device) for each in recordings)


def _of_disk(start_inputs: Inputs, disk: int) -> Array:
    """Return a mask of the operations on files of a disk (dev_t)."""
    file = start_inputs.program.file_of_operations()
    return np.asarray(start_inputs.disk_of_file[file] == start_inputs.disks.index(disk))


def _device_in_use(
    recording: Recording, disk: int, requests: Table, each_ns: float, given: DeviceModel | None
) -> tuple[DeviceModel, str]:
    """Return the disk as the kernel uses it, and the source of its cost.

    ``each_ns`` is the cost of recording an event.
    """
    try:
        return _disk(recording, disk, requests, each_ns, given)
    except DeviceModelError as error:
        command = remedy.calibrate(recording, disk)
        raise DeviceModelError(f"the cost of the disk is unknown ({error})", command) from error


def _own_disk(
    recording: Recording, disk: int, requests: Table, each_ns: float
) -> DeviceModel | None:
    """Return the disk that the start was recorded on, as far as the capture shows it."""
    with suppress(DeviceModelError):
        return _disk(recording, disk, requests, each_ns, None)[0]
    return None


def _disk(
    recording: Recording, disk: int, requests: Table, each_ns: float, given: DeviceModel | None
) -> tuple[DeviceModel, str]:
    """Return the disk, and the source of its cost: given, the capture's probe, or its requests."""
    if given is not None:
        return _as_used(recording, requests, each_ns, given, same_disk=False), "as given"
    refused = ""
    probe = probe_of(recording.probe, dev_text(disk))
    if probe is not None:
        try:
            probed = device_of_probe(probe, requests)
        except (LimiterUnknownError, UnexplainedError):
            raise  # the run's requests alone would hide it
        except DeviceModelError as error:
            refused = str(error)
        else:
            used = _as_used(recording, requests, each_ns, probed.device, same_disk=True)
            return used, probed.how
    from foreread.analyzer.predict.disk.learnt import learn_disk  # noqa: PLC0415  (without a probe)

    learnt = learn_disk(requests, each_ns)
    model = _handed_over(recording, requests, each_ns, learnt)
    how = [_residual(learnt)] + [refused] * bool(refused)
    return model, f"learnt from the capture's requests ({'; '.join(how)})"


def _residual(learnt: FixedCost | Stateful) -> str:
    if isinstance(learnt, FixedCost):
        return f"median residual {learnt.spread_ns / 1000:.1f} µs"
    return f"standard error {learnt.band:.1%}"


def _as_used(
    recording: Recording, requests: Table, each_ns: float, device: DeviceModel, same_disk: bool
) -> DeviceModel:
    """Return a known disk as the kernel uses it."""
    if not isinstance(device, (Measured, Stateful, FixedCost)):
        return device
    # Most captures are of a limiter, which needs none of these.
    from foreread.analyzer.predict.disk.in_run import as_in_run  # noqa: PLC0415
    from foreread.analyzer.predict.disk.learnt import learn_disk, with_copies  # noqa: PLC0415
    from foreread.analyzer.program.driver import with_driver  # noqa: PLC0415

    if isinstance(device, Measured):
        return as_in_run(device, requests, each_ns, same_disk)
    if isinstance(device, Stateful):
        device = with_copies(device, requests, each_ns)
        return _handed_over(recording, requests, each_ns, device)
    with suppress(DeviceModelError):
        learnt = learn_disk(requests, each_ns)
        device = with_driver(device, learnt) if isinstance(learnt, FixedCost) else device
    return _handed_over(recording, requests, each_ns, device)


def _handed_over(
    recording: Recording, requests: Table, each_ns: float, device: FixedCost | Stateful
) -> FixedCost | Stateful:
    """Return the disk with the time that the kernel takes to hand it the next request."""
    from foreread.analyzer.program.driver import handover_ns  # noqa: PLC0415  (as in _as_used)

    handover = handover_ns(requests, recording.trace.events, each_ns)
    return replace(device, handover_ns=handover)


def _disk_row(start_inputs: Inputs) -> int:
    """Return the disk that the application was read from; reads from other disks stay unchanged."""
    accessed = start_inputs.recording.files["accessed"].astype(np.int64)
    pages = np.bincount(start_inputs.disk_of_file, accessed, len(start_inputs.disks))
    if not pages.sum():
        raise DeviceModelError(
            "the capture has no page that was read from a disk",
            remedy.record_again(start_inputs.recording),
        )
    row = int(pages.argmax())
    if pages.sum() - pages[row] >= max(1, MINOR_SHARE * pages.sum()):
        raise DeviceModelError(
            "the start-up reads several disks, and seconds can be predicted for one disk only",
            remedy.sweep(start_inputs.recording),
        )
    return row


def _notes(
    where: str, device: DeviceModel, cpu: CpuCost, steps: Steps, whole: bool
) -> Iterator[Note]:
    by_thread = f"separately, on {plural(steps.cpus, 'CPU')}"
    yield Note(f"the disk, {where}: {device.describe()}", NoteKind.BASIS)
    yield Note(
        f"CPU time: {cpu.describe()}; "
        f"threads are replayed {by_thread if steps.by_thread else 'as one sequence'}",
        NoteKind.DETAIL,
    )
    if not whole:
        other = "reads from other disks keep their recorded time at every window"
        yield Note(other, NoteKind.DETAIL)


def again(start: Start, recorded: Timed) -> Note:
    """Return the duration of the run, and of its replay; ``recorded`` is the run at window 0."""
    frame = frame_of(start.recording)
    took = (frame.end_ns - frame.start_ns) / 1e9
    replayed = start.recorded_s(recorded.total_ns / 1e9)
    return Note(
        f"the recorded run took {took:.3f} s; its replay, without the cost of recording, takes "
        f"{replayed:.3f} s",
        NoteKind.BASIS,
    )
