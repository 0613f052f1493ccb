"""The report's sections on the origin of its figures: board, recording, and how to repeat it."""

from __future__ import annotations

from foreread.analyzer.ingest.losses import losses_text, lost_by_cpu, lost_events
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.board_default import described
from foreread.analyzer.predict.remedy import target_words
from foreread.analyzer.report.blocks import (
    Block,
    Bullets,
    Code,
    Column,
    Facts,
    Paragraph,
    Section,
    Table,
)
from foreread.analyzer.report.boot import ORIGINS
from foreread.analyzer.report.subject import Subject
from foreread.analyzer.report.wording import count, seconds, shell_words
from foreread.boards.base.counted import plural
from foreread.boards.base.units import KIB, kib_text, size_text
from foreread.tracer.formats.capture import Cold, Device, Metadata
from foreread.tracer.formats.sweep import Sweep

CAPTURE, SWEEP = "again.capture", "again.sweep.json"  # of the commands that repeat it
MOST_ROWS = 40  # of lists that a hostile or huge capture could make very long
QUEUE = [
    "scheduler",
    "rotational",
    "nr_requests",
    "max_sectors_kb",
    "max_hw_sectors_kb",
    "logical_block_size",
    "physical_block_size",
    "minimum_io_size",
    "optimal_io_size",
    "write_cache",
]


def board(subject: Subject) -> Section:
    """Return the machine, its disks and mounts."""
    capture = subject.recording.capture
    section = Section("board", "Board")
    rows = [("Kernel", subject.recording.kernel or "unknown")]
    host = capture.host
    if host is None:
        section.blocks.append(Facts([*rows, ("Page size", size_text(subject.recording.page_size))]))
        return section
    rows = [
        ("Name", host.nodename or "unknown"),
        ("Kernel", f"{host.kernel} {host.version}"),
        (
            "CPU",
            f"{host.cpu_count} × {host.cpu_model or 'unknown model'} ({host.machine}, "
            f"{host.byte_order}-endian)",
        ),
        ("Memory", size_text(host.memory_kib * KIB)),
        ("Page size", size_text(host.page_size)),
    ]
    section.blocks.append(Facts(rows))
    used = {curve.dev for curve in subject.prediction.devices}
    devices = [device for device in capture.devices if device.dev in used][:MOST_ROWS]
    section.blocks.extend(
        Facts(_device_facts(device, described(subject.recording, device))) for device in devices
    )
    section.blocks.extend(_mounts(capture, devices))
    return section


def _device_facts(device: Device, present: str | None) -> list[tuple[str, str]]:
    """Return the facts of a disk; ``present`` says where the window found came from."""
    queue = [f"{name} {device.queue[name]}" for name in QUEUE if name in device.queue]
    return [
        ("Disk", f"{device.name} ({device.dev}) {device.model}".strip()),
        ("Size", size_text(device.size_bytes)),
        (
            "read_ahead_kb",
            f"{device.read_ahead_kb_before} found{f', {present}' if present else ''}; "
            f"{device.read_ahead_kb} during the recording",
        ),
        ("Queue", ", ".join(queue) or "unknown"),
    ]


def _mounts(capture: Metadata, devices: list[Device]) -> list[Block]:
    used = {dev for device in devices for dev in (device.dev, *device.filesystems)}
    mounts = [mount for mount in capture.mounts if mount.dev in used][:MOST_ROWS]
    if not mounts:
        return []
    columns = [
        Column("mounted on", "left", share=2, is_path=True),
        Column("type", "left", share=0.7),
        Column("from", "left", share=1.5, is_path=True),
        Column("options", "left", share=3, is_path=True),
    ]
    return [Table(columns, [[m.mountpoint, m.fstype, m.source, m.options] for m in mounts])]


def recording(subject: Subject) -> Section:
    """Return how the trace was made, and its gaps."""
    recording, capture = subject.recording, subject.recording.capture
    window = kib_text(recording.recorded_read_ahead_kb)
    rows = [("Trace", recording.trace.format), ("Window while recording", window)]
    rows += _run_facts(capture)
    rows.append(("Events lost", _lost(recording)))
    reads = f"{count(subject.reads.sum())}, {count(subject.unanswered)} without completion"
    rows.append(("Reads recorded", reads))
    rows += [(_COUNTED.get(name, name), count(n)) for name, n in recording.counts.items()]
    section = Section("recording", "How it was recorded", [Facts(rows)])
    if capture.cold is not None and capture.cold.resident:
        section.blocks.append(_resident(capture.cold))
    notes = [*subject.prediction.notes, *capture.notes]
    notes += [*recording.trace.notes, *recording.notes, *subject.prediction.criterion_notes]
    notes = list(dict.fromkeys(notes))
    if notes:
        section.blocks.append(Bullets(notes[:MOST_ROWS]))
    return section


_COUNTED = {
    "written_or_hole": "Pages written, or holes",
    "metadata": "Pages of metadata",
    "other_process": "Pages of other processes",
    "readahead": "Pages of the kernel's readahead",
    "read_again": "Pages read again",
}


def _run_facts(capture: Metadata) -> list[tuple[str, str]]:
    cold, took = capture.cold, capture.wall_seconds
    if cold is None or took is None:
        return []
    proven = "proven" if cold.proven else "not proven"
    resident = plural(cold.resident_pages, "page")
    boot = [] if capture.boot is None else [("Boot from", ORIGINS[capture.boot.recorded_from])]
    return [
        ("Recorded", f"{capture.created}, ended by {capture.ended_by}"),
        *boot,
        ("Took", seconds(took)),
        ("Back-end", f"{capture.backend} {capture.backend_version}".strip()),
        ("Cold caches", f"{proven}: {cold.how}; {resident} still resident"),
        ("Events recorded", ", ".join(capture.events) or "none"),
        ("Events missing here", ", ".join(capture.events_missing) or "none"),
    ]


def _lost(recording: Recording) -> str:
    if not lost_events(recording):
        return losses_text(recording)
    counts = [(cpu, n) for cpu, n in lost_by_cpu(recording).items() if n]
    return ", ".join(f"CPU {cpu}: {n:,}" for cpu, n in counts[:MOST_ROWS])


def _resident(cold: Cold) -> Table:
    columns = [Column("resident before the run", "left", share=5, is_path=True), Column("pages")]
    most = sorted(cold.resident, key=lambda entry: -entry.pages)[:10]
    rows = [
        [entry.path or f"inode {entry.ino} on {entry.dev}", count(entry.pages)] for entry in most
    ]
    return Table(
        columns,
        rows,
        "Running processes had mapped these pages, so the recorded run did not read them.",
    )


def again(subject: Subject) -> Section:
    """Return the commands that make this report again; without blocks for a foreign trace."""
    capture, sweep = subject.recording.capture, subject.sweep
    section = Section("again", "To repeat it")
    if capture.command is None:
        return section
    lines = [_record_line(capture), _line("predict", "--model", subject.prediction.model, CAPTURE)]
    if sweep is not None:
        lines.append(_sweep_line(capture, sweep))
    swept = [SWEEP] if sweep is not None else []
    lines.append(_line("report", CAPTURE, *swept, "-o", "again-report"))
    section.blocks.append(Code(lines))
    section.blocks.append(Paragraph(f"Recorded with foreread {capture.foreread}."))
    return section


def _record_line(capture: Metadata) -> str:
    """Return the command that records the start again, from the folder where it was recorded."""
    command = ["--", *(capture.command or [])] if capture.boot is None else []
    backend = ["--backend", capture.backend] if capture.backend else []
    words = [*backend, *capture.options, "-o", CAPTURE, *command]
    line = _line("record", *words)
    # On a target that folder is the target's own.
    return line if target_words(capture) else f"cd {shell_words([capture.cwd])} && {line}"


def _sweep_line(capture: Metadata, sweep: Sweep) -> str:
    """Return the command that sweeps again: the capture, which names its board and options."""
    windows = ",".join(str(point.read_ahead_kb) for point in sweep.points)
    repeats = max((len(point.seconds) for point in sweep.points), default=1)
    disks = [word for name in sweep.devices for word in ("--device", name)]
    options = [*target_words(capture), "--windows", windows, "--repeat", str(repeats), *disks]
    same = not sweep.command or sweep.command == capture.command
    what = [CAPTURE] if same else ["--", *sweep.command]
    return _line("sweep", *options, "-o", SWEEP, *what)


def _line(*words: str) -> str:
    return shell_words(["foreread", *words])
