"""Everything a report says, in the order in which it is asked for."""

from __future__ import annotations

import numpy as np

from analyzer.prediction import Curve
from analyzer.report.answer import answer, lost_events, spread_of
from analyzer.report.blocks import (
    Block,
    Bullets,
    Code,
    Column,
    Facts,
    Figure,
    Paragraph,
    Section,
    Table,
)
from analyzer.report.plots import curve_plots, disk_plots, map_plots, measured_plots
from analyzer.report.subject import Subject, row_of
from analyzer.report.wording import count, kib, percent, plural, power, seconds, shell_words, size
from analyzer.validate import Validation, WindowResult
from tracer.capture import Capture, Device

MOST_FILES = 25
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


def sections(subject: Subject) -> list[Section]:
    """Return the report's sections; those with nothing to say are left out."""
    made = [
        answer(subject),
        _measured(subject),
        _windows(subject),
        _devices(subject),
        _reading(subject),
        _board(subject),
        _recording(subject),
        _again(subject),
    ]
    return [section for section in made if section.blocks]


def _measured(subject: Subject) -> Section:
    section = Section("measured", "Predicted against measured")
    validation = subject.validation
    if validation is None or subject.sweep is None:
        return section
    section.blocks.extend(Figure(plot) for plot in measured_plots(subject))
    section.blocks.append(_comparison(subject, validation))
    section.blocks.append(Facts(_errors(validation)))
    section.blocks.append(Bullets(list(validation.notes)))
    return section


def _comparison(subject: Subject, validation: Validation) -> Table:
    assert subject.sweep is not None
    runs = {point.read_ahead_kb: point.seconds for point in subject.sweep.points}
    has_seconds = any(point.predicted.seconds is not None for point in validation.points)
    columns = [
        Column("window", "left"),
        Column("measured"),
        Column("spread", share=1.5),
        *([Column("predicted"), Column("error")] if has_seconds else []),
        Column("requests"),
        Column("predicted"),
        Column("error"),
        Column("pages"),
        Column("predicted"),
        Column("error"),
    ]
    rows = [
        _comparison_row(point, runs[point.read_ahead_kb], has_seconds)
        for point in validation.points
    ]
    kbs = [point.read_ahead_kb for point in validation.points]
    best = kbs.index(validation.best_read_ahead_kb)
    repeats = max(len(values) for values in runs.values())
    caption = (
        f"Medians over {plural(repeats, 'run')} a window, and how far the fastest and the slowest "
        "were from it; errors are (predicted − measured) / measured. "
    )
    return Table(
        columns, rows, caption + "The fastest window measured is marked.", frozenset({best})
    )


def _comparison_row(point: WindowResult, runs: list[float], has_seconds: bool) -> list[str]:
    predicted, measured, error = point.predicted, point.measured, point.error
    times = [seconds(predicted.seconds), percent(error.seconds, signed=True)]
    return [
        kib(point.read_ahead_kb),
        seconds(measured.seconds),
        spread_of(runs),
        *(times if has_seconds else []),
        _count(measured.f),
        _count(predicted.f),
        percent(error.f, signed=True),
        _count(measured.pages),
        _count(predicted.pages),
        percent(error.pages, signed=True),
    ]


def _count(number: float | None) -> str:
    return "–" if number is None else count(number)


def _errors(validation: Validation) -> list[tuple[str, str]]:
    rows = [
        (
            "Error of requests (F)",
            _median_and_worst(validation.f_error_median, validation.f_error_max),
        ),
        ("Error of pages", f"{percent(validation.pages_error_median)} median"),
    ]
    if validation.seconds_error_median is not None:
        worst = validation.seconds_error_max
        rows.append(("Error of seconds", _median_and_worst(validation.seconds_error_median, worst)))
    rows.append((f"Regret of {kib(validation.chosen_read_ahead_kb)}", percent(validation.regret)))
    if validation.quasi_optimal_read_ahead_kb != validation.chosen_read_ahead_kb:
        quasi = kib(validation.quasi_optimal_read_ahead_kb)
        rows.append(
            (f"Regret of {quasi} (quasi-optimal)", percent(validation.regret_quasi_optimal))
        )
    return rows


def _median_and_worst(median: float | None, worst: float | None) -> str:
    return f"{percent(median)} median, {percent(worst)} worst"


def _windows(subject: Subject) -> Section:
    blocks: list[Block] = [Figure(plot) for plot in curve_plots(subject)]
    if blocks:
        blocks.append(_window_table(subject, subject.prediction.total))
        blocks += _turning_points(subject.prediction.total, subject.page_kb)
    return Section("windows", "Every window, as predicted", blocks)


def _window_table(subject: Subject, curve: Curve) -> Table:
    octaves = {
        0,
        *(1 << n for n in range(21)),
        curve.quasi_optimal,
        subject.current_window,
        subject.window,
    }
    shown = [row for row, window in enumerate(curve.windows) if window in octaves]
    if len(curve.windows) <= MOST_ROWS:
        shown = list(range(len(curve.windows)))
    columns = [
        Column("window", "left"),
        Column("pages (Rws)"),
        Column("requests (F)"),
        Column("in vain (G)"),
        Column("G as published", share=1.3),
        Column("pages read"),
        Column("C_opt", share=1.3),
        *([Column("predicted")] if curve.seconds else []),
    ]
    rows = [
        [
            kib(curve.windows[row] * subject.page_kb),
            count(curve.windows[row]),
            count(curve.f[row]),
            count(curve.g[row]),
            count(curve.g_formula[row]),
            count(curve.pages[row]),
            power(curve.c_opt[row]),
            *([seconds(curve.seconds[row])] if curve.seconds else []),
        ]
        for row in shown
    ]
    quasi = row_of(curve, curve.quasi_optimal)
    marked = frozenset({shown.index(quasi)} if quasi in shown else set())
    return Table(columns, rows, "The quasi-optimal window is marked.", marked)


def _turning_points(curve: Curve, page_kb: float) -> list[Block]:
    if curve.turning_points <= 1 and curve.iterated == curve.quasi_optimal:
        return []
    return [
        Paragraph(
            f"C_opt has {plural(curve.turning_points, 'turning point')}. The paper's iteration, "
            f"which expects one, finds {kib(curve.iterated * page_kb)}; the exhaustive search "
            f"finds {kib(curve.quasi_optimal * page_kb)}, which is what counts here."
        )
    ]


def _devices(subject: Subject) -> Section:
    section = Section("devices", "Devices")
    if not subject.several_devices:
        return section
    columns = [
        Column("device", "left"),
        Column("pages accessed"),
        Column("quasi-optimal"),
        Column("predicted best"),
        Column("in force before"),
        Column("requests there"),
        Column("in vain there"),
    ]
    curves = [*subject.prediction.devices, subject.prediction.total]
    caption = f"Requests and pages in vain are those at {kib(subject.window_kb)}."
    section.blocks.append(Table(columns, [_device_row(subject, c) for c in curves], caption))
    return section


def _device_row(subject: Subject, curve: Curve) -> list[str]:
    row = row_of(curve, subject.window)
    best = curve.predicted_best
    return [
        curve.name if curve.dev == curve.name else f"{curve.name} ({curve.dev})",
        count(curve.tap),
        kib(curve.quasi_optimal * subject.page_kb),
        "–" if best is None else kib(best * subject.page_kb),
        kib(curve.current_read_ahead_kb),
        "–" if row is None else count(curve.f[row]),
        "–" if row is None else count(curve.g[row]),
    ]


def _reading(subject: Subject) -> Section:
    section = Section("reading", "What was read")
    section.blocks.extend(Figure(plot) for plot in map_plots(subject))
    if subject.recording.accesses.rows:
        section.blocks.append(_files(subject))
    else:
        section.blocks.append(Paragraph("The application read no page of any file from a device."))
    section.blocks.extend(Figure(plot) for plot in disk_plots(subject))
    return section


def _files(subject: Subject) -> Table:
    files, found = subject.recording.files, subject.waste
    accessed = files["accessed"].astype(np.int64)
    order = np.argsort(-(accessed + found.wasted), kind="stable")
    order = order[accessed[order] > 0]
    columns = [
        Column("file", "left", share=5, is_path=True),
        Column("pages accessed"),
        Column("requests"),
        Column("in vain"),
        Column("size"),
    ]
    rows = [
        [
            subject.path(file),
            count(accessed[file]),
            count(found.requests[file]),
            count(found.wasted[file]),
            size(int(files["size_bytes"][file])),
        ]
        for file in order[:MOST_FILES].tolist()
    ]
    rest = order[MOST_FILES:]
    if len(rest):
        sums = [accessed[rest].sum(), found.requests[rest].sum(), found.wasted[rest].sum()]
        rows.append([f"{plural(len(rest), 'other file')}", *map(count, sums), ""])
    caption = f"Requests and pages in vain as a fixed window of {kib(subject.window_kb)} has them."
    return Table(columns, rows, f"The files that cost most pages. {caption}")


def _board(subject: Subject) -> Section:
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
    devices = capture.devices[:MOST_ROWS]
    section.blocks.extend(Facts(_device_facts(device)) for device in devices)
    section.blocks.extend(_mounts(capture))
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


def _mounts(capture: Capture) -> list[Block]:
    used = {dev for device in capture.devices for dev in (device.dev, *device.filesystems)}
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


def _recording(subject: Subject) -> Section:
    recording, capture = subject.recording, subject.recording.capture
    lost = lost_events(subject)
    window = kib(recording.recorded_read_ahead_kb)
    rows = [("Trace", recording.trace.format), ("Window while recording", window)]
    rows += [] if capture is None else _run_facts(capture)
    rows.append(("Events lost", _lost_by_cpu(subject) if lost else "none"))
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
    return Table(columns, rows, "Mapped by running processes, so never read by the recorded run.")


def _again(subject: Subject) -> Section:
    capture, sweep = subject.recording.capture, subject.sweep
    section = Section("again", "To repeat it")
    if capture is None:
        return section
    end = {"exit": "", "signal": "", "duration": f" --duration {capture.wall_seconds:.0f}"}
    option = end.get(capture.ended_by, f" --until-{capture.ended_by} …")
    command = shell_words(capture.command)
    lines = [
        f"cd {shell_words([capture.cwd])}",
        f"foreread record --backend {capture.backend}{option} -o CAPTURE -- {command}",
        f"foreread predict CAPTURE --model {subject.prediction.model}",
    ]
    if sweep is not None:
        windows = ",".join(str(point.read_ahead_kb) for point in sweep.points)
        repeats = max((len(point.seconds) for point in sweep.points), default=1)
        swept = shell_words(sweep.command) if sweep.command else command
        lines.append(f"foreread sweep --windows {windows} --repeat {repeats} -o SWEEP -- {swept}")
    sweep_file = " SWEEP" if sweep is not None else ""
    section.blocks.append(Code([*lines, f"foreread report CAPTURE{sweep_file} -o DIR"]))
    section.blocks.append(Paragraph(f"Recorded with foreread {capture.foreread}."))
    return section
