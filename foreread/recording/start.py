"""Records one cold run of a command, on this machine or on a target."""

from __future__ import annotations

from collections.abc import Callable

from foreread.analyzer.ingest.arguments import StrPath
from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.base.silent import silent
from foreread.boards.base.units import KIB, size_word
from foreread.boards.open import LOCAL, open_target
from foreread.checks import (
    Command,
    checked_number,
    checked_path,
    checked_run,
    key_of,
)
from foreread.recording.steps import recorded
from foreread.recording.words import target_words, words_of
from foreread.tracer.backends.select import AUTO
from foreread.tracer.formats.capture import Capture
from foreread.tracer.formats.scenario import IDLE
from foreread.tracer.machines import recorder_for
from foreread.tracer.runs.output import recording_folder
from foreread.tracer.runs.recording import RecordOptions
from foreread.tracer.trials.trial import Scenario
from foreread.version import VERSION


def record(
    run: Command,
    output: StrPath,
    *,
    target: str = LOCAL,
    identity: StrPath | None = None,
    backend: str = AUTO,
    read_ahead_kb: int = 0,
    buffer_kib: int | None = None,
    probes: bool = False,
    probe_disk: bool = True,
    scenario: str = IDLE,
    device: str | None = None,
    memory_kib: int | None = None,
    search_s: float | None = None,
    wait_s: float = 0.0,
    tell: Callable[[str], None] = silent,
) -> Capture:
    """Record one cold run into ``output``, which is created, and return its metadata.

    Recording drops the page cache and sets read_ahead_kb on the machine that it records; it
    restores every setting afterwards. It needs root there.

    Args:
        run: the words of the command, or RunOptions, which also say when the run is over.
        output: the capture: a folder, or an archive if the name ends in .tar, .tar.gz, .tar.bz2 or
            .tar.xz; read it with :func:`foreread.load`.
        target: the machine: "local", ssh://USER@HOST, serial:///dev/ttyUSB0, adb:// or the name
            of a board.
        identity: private key that logs in to an ssh target.
        backend: "auto", "tracefs", "trace-cmd" or "perf"; a target has tracefs only.
        read_ahead_kb: window during the run; any but 0 makes a contaminated capture.
        buffer_kib: trace buffer per CPU; None: by the machine's memory.
        probes: use kernel probes where a target's kernel lacks events.
        probe_disk: read the disk for about one second after the run, to measure its cost.
        scenario: the load beside the start: "idle", "reader", "reader:FILE", "writer",
            "writer:FOLDER", "memory" or "memory:MIB", as a trial of :func:`foreread.tune` has it.
        device: name of the disk that the scenario uses, such as "mmcblk0"; None: the command's.
        memory_kib: run the command in a control group with so much memory, without swap; foreread
            makes the group and removes it. None: with the machine's memory.
        search_s: how long paths of files are looked up; None: 20 s, on a target 60 s.
        wait_s: how long to wait for another foreread that holds the machine's settings.
        tell: is called with each step, in words.

    Raises:
        ArgumentError: arguments that make no sense.
        tracer.error.RecordError: the run cannot be recorded; ``remedy`` says what to do.
        boards.target.TargetError: the target cannot be reached.
    """
    options = checked_run(run)
    scenario = Scenario.parse(scenario).text
    load_words = [] if scenario == IDLE else ["--scenario", scenario]
    load_words += ["--device", device] if device else []
    if memory_kib is not None:
        load_words += ["--memory", size_word(checked_number(memory_kib, "memory_kib", least=KIB))]
    words = (*target_words(target, key_of(identity)), *(["--probes"] if probes else []))
    recording = RecordOptions(
        run=options,
        read_ahead_kb=checked_number(read_ahead_kb, "read_ahead_kb"),
        buffer_kib=buffer_kib,
        probes=probes,
        wait_s=wait_s,
        foreread=VERSION,
        words=(*words, *words_of(options, read_ahead_kb), *load_words),
        search_s=search_s,
        tell=tell,
        scenario=scenario,
        devices=(device,) if device else (),
        memory_kib=memory_kib,
    )
    with (
        orderly_exit(),
        recording_folder(checked_path(output, "output")) as folder,
        open_target(target, identity=key_of(identity), tell=tell) as opened,
    ):
        recorder = recorder_for(opened, backend)
        if recorder.why:
            tell(recorder.why)
        return recorded(recorder.run(recording, folder, probe_disk), probe_disk)
