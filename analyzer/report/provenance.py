"""The report's sections on where its figures come from: board, recording, how to repeat it."""

from __future__ import annotations

from analyzer.report.answer import lost_events
from analyzer.report.blocks import Block, Bullets, Code, Column, Facts, Paragraph, Section, Table
from analyzer.report.subject import Subject
from analyzer.report.wording import count, kib, plural, seconds, shell_words, size
from tracer.capture import Capture, Device

MOST_ROWS = 40  # of lists that a hostile or huge capture could make endless
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
    if capture is None:
        section.blocks.append(Facts([*rows, ("Page size", size(subject.recording.page_size))]))
        return section
    host = capture.host
    rows = [
        ("Name", host.nodename or "unknown"),
        ("Kernel", f"{host.kernel} {host.version}"),
        (
            "CPU",
            f"{host.cpu_count} × {host.cpu_model or 'unknown model'} ({host.machine}, "
            f"{host.byte_order}-endian)",
        ),
        ("Memory", size(host.memory_kib * 1024)),
        ("Page size", size(host.page_size)),
    ]
    section.blocks.append(Facts(rows))
    used = {curve.dev for curve in subject.prediction.devices}
    devices = [device for device in capture.devices if device.dev in used][:MOST_ROWS]
    section.blocks.extend(Facts(_device_facts(device)) for device in devices)
    section.blocks.extend(_mounts(capture, devices))
    return section


def _device_facts(device: Device) -> list[tuple[str, str]]:
    queue = [f"{name} {device.queue[name]}" for name in QUEUE if name in device.queue]
    return [
        ("Disk", f"{device.name} ({device.dev}) {device.model}".strip()),
        ("Size", size(device.size_bytes)),
        (
            "read_ahead_kb",
            f"{device.read_ahead_kb_before} found, {device.read_ahead_kb} during the recording",
        ),
        ("Queue", ", ".join(queue) or "unknown"),
    ]


def _mounts(capture: Capture, devices: list[Device]) -> list[Block]:
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
    """Return how the trace was made, and what it lacks."""
    recording, capture = subject.recording, subject.recording.capture
    lost = lost_events(subject)
    window = kib(recording.recorded_read_ahead_kb)
    rows = [("Trace", recording.trace.format), ("Window while recording", window)]
    rows += [] if capture is None else _run_facts(capture)
    rows.append(("Events lost", _lost_by_cpu(subject) if lost else "none"))
    reads = f"{count(subject.reads.sum())}, {count(subject.unanswered)} without completion"
    rows.append(("Reads recorded", reads))
    rows += [(_COUNTED.get(name, name), count(n)) for name, n in recording.counts.items()]
    section = Section("recording", "How it was recorded", [Facts(rows)])
    if capture is not None and capture.cold.resident:
        section.blocks.append(_resident(capture))
    notes = [*(capture.notes if capture else ()), *recording.trace.notes, *recording.notes]
    notes = list(dict.fromkeys([*notes, *subject.prediction.notes]))
    if notes:
        section.blocks.append(Bullets(notes[:MOST_ROWS]))
    return section


_COUNTED = {
    "written_or_hole": "Pages written, or holes",
    "metadata": "Pages of metadata",
    "other_process": "Pages of other processes",
    "readahead": "Pages of the kernel's readahead",
}


def _run_facts(capture: Capture) -> list[tuple[str, str]]:
    cold = "proven" if capture.cold.proven else "not proven"
    resident = plural(capture.cold.resident_pages, "page")
    return [
        ("Recorded", f"{capture.created}, ended by {capture.ended_by}"),
        ("Took", seconds(capture.wall_seconds)),
        ("Back-end", f"{capture.backend} {capture.backend_version}".strip()),
        ("Cold caches", f"{cold}: {capture.cold.how}; {resident} still resident"),
        ("Events recorded", ", ".join(capture.events) or "none"),
        ("Events missing here", ", ".join(capture.events_missing) or "none"),
    ]


def _lost_by_cpu(subject: Subject) -> str:
    capture = subject.recording.capture
    lost = dict(capture.lost) if capture is not None and capture.lost else {}
    lost = lost or {str(cpu): n for cpu, n in subject.recording.trace.lost.items()}
    return ", ".join(f"CPU {cpu}: {n:,}" for cpu, n in list(lost.items())[:MOST_ROWS] if n)


def _resident(capture: Capture) -> Table:
    columns = [Column("resident before the run", "left", share=5, is_path=True), Column("pages")]
    most = sorted(capture.cold.resident, key=lambda entry: -entry.pages)[:10]
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
    if capture is None:
        return section
    options = shell_words(["--backend", capture.backend, *capture.options])
    command = shell_words(capture.command)
    lines = [
        f"cd {shell_words([capture.cwd])}",
        f"foreread record {options} -o CAPTURE -- {command}",
        f"foreread predict CAPTURE --model {subject.prediction.model}",
    ]
    if sweep is not None:
        windows = ",".join(f"{point.read_ahead_kb}k" for point in sweep.points)
        repeats = max((len(point.seconds) for point in sweep.points), default=1)
        swept = shell_words(sweep.command) if sweep.command else command
        lines.append(f"foreread sweep --windows {windows} --repeat {repeats} -o SWEEP -- {swept}")
    sweep_file = " SWEEP" if sweep is not None else ""
    section.blocks.append(Code([*lines, f"foreread report CAPTURE{sweep_file} -o DIR"]))
    section.blocks.append(Paragraph(f"Recorded with foreread {capture.foreread}."))
    return section
