"""A recorded start as the library returns it, with the methods that analyse it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from shlex import quote
from typing import TYPE_CHECKING, Any

from foreread.analyzer.ingest import load as reader
from foreread.analyzer.ingest.arguments import Pids, StrPath
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.shown_table import visible
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.criterion import SECONDS, Criterion
from foreread.analyzer.predict.kib import Kibs, all_pages_of
from foreread.analyzer.predict.linux import PREFIX
from foreread.boards.base.counted import plural
from foreread.boards.base.silent import silent
from foreread.boards.base.units import KIB
from foreread.checked import checked
from foreread.emulator.devices.device import DeviceModel
from foreread.objects.prediction import Prediction

if TYPE_CHECKING:
    from foreread.analyzer.advise.advise import Advice
    from foreread.analyzer.report.write import ReportFiles
    from foreread.analyzer.tuner.findings.results import Results
    from foreread.tracer.formats.sweep import Sweep

_LONGEST = 96  # characters of a line


@dataclass(frozen=True, repr=False)
class Start(Recording):
    """One recorded start: the page accesses of each thread in order, and the reads of the disks.

    ``accesses``, ``requests`` and ``files`` are tables; ``paths[i]`` is the path of row i of
    ``files``, None if unknown. ``capture`` has the command, the machine and its disks, None or
    empty for a trace of another tool. ``recorded_read_ahead_kb`` is the window during the
    recording, and ``contaminated`` says that readahead was on. ``counts`` has the pages that the
    application did not access, by reason.
    """

    @checked
    def predict(
        self,
        *,
        windows_kib: Kibs | None = None,
        model: str | None = None,
        device_model: DeviceModel | StrPath | None = None,
        more: Sequence[Recording] = (),
        criterion: Criterion = SECONDS,
        loads: Sequence[StrPath] = (),
        weights: Mapping[str, float] | None = None,
    ) -> Prediction:
        """Predict what every readahead window would read, and how long the start would take.

        Args:
            windows_kib: windows in KiB, multiples of the page size; None: all up to 1,023 pages,
                and the present window.
            model: "linux" (the readahead of the recording's kernel, with seconds), "linux-X.Y"
                (of another kernel) or "fixed" (the 2010 paper's fixed window); None: linux for a
                capture of a known kernel made at read_ahead_kb=0, else fixed.
            device_model: what requests of the disk cost: a device, a file that ``foreread
                calibrate`` wrote, or a board profile; None: learnt from the recording.
            more: further recordings of the same start on the same board; they narrow the band.
            criterion: what decides the verdict: predicted "seconds", or "published", the 2010
                paper's F² + G², which ignores the speed of the disk.
            loads: other readers and writers, for which the verdict holds, too: names of scenarios
                ("reader", "writer:/data"), or paths of captures with a load.
            weights: of loads, by name ("idle" is one), that do not count once.

        Raises:
            ArgumentTypeError: an argument of another type.
            ArgumentError: a weight that concerns none of the loads.
            WindowSizeError: a window that is not whole pages.
            ChoiceError: recordings of different starts, or options that the fixed model lacks.
            LoadError: a scenario of an unknown name, or a capture without a load.
            DeviceModelError, ProfileError: the device model cannot be read.
            KernelError: the readahead of this kernel is unknown.
        """
        windows = None if windows_kib is None else all_pages_of(windows_kib, self.page_size)
        prediction = predict_by(self, model, windows, device_model, more, criterion)
        if loads or weights:
            from foreread.analyzer.load.named import predict_beside  # noqa: PLC0415  (few need it)

            prediction = predict_beside(prediction, loads, weights, criterion)
        return Prediction(**_shallow(prediction), start=self)

    @checked
    def advise(
        self,
        *,
        more: Sequence[Recording] = (),
        device_model: DeviceModel | StrPath | None = None,
        model: str = PREFIX,
        root: StrPath | None = None,
        sources: Sequence[Callable[..., Any]] = (),
        prediction: Prediction | None = None,
        output: StrPath = "advice",
        source: StrPath | None = None,
        step: Callable[[str], None] = silent,
    ) -> Advice:
        """Rank everything that would make the start faster, by predicted seconds.

        Each row is the timed replay of the start with one change, or several together.

        Args:
            more: further recordings of the same start on the same board.
            device_model: what requests of the disk cost, as for ``predict``.
            model: "linux" (the recording's kernel) or "linux-X.Y".
            root: a folder with the board's files; their symbols become lists for linkers.
            sources: make further offers (:func:`image_offers`).
            prediction: of this start, by seconds; None: made here.
            output: the folder that the table will be written to, for the commands that read it.
            source: a source file of the application: advice for single files gets a patch of it.
            step: is called with each step, in words.

        Raises:
            AdviceError: seconds cannot be predicted; and what ``predict`` raises.
        """
        from foreread.analyzer.advise.advise import advise  # noqa: PLC0415  (few programs need it)

        return advise(
            self, more, device_model, model, root, step, tuple(sources), prediction, output, source
        )

    @checked
    def report(
        self,
        output: StrPath,
        *,
        prediction: Prediction | None = None,
        sweep: Sweep | None = None,
        tuning: Results | None = None,
        device_model: DeviceModel | StrPath | None = None,
        advice: Advice | None = None,
        static: bool = False,
        step: Callable[[str], None] = silent,
    ) -> ReportFiles:
        """Write the board report into a folder: HTML, PDF, a PNG of each figure, JSON.

        Args:
            output: the folder, created if needed.
            prediction: of this start; None: made here.
            sweep: measured runs to compare the prediction with.
            tuning: results to show with the start.
            device_model: what requests of the disk cost, as for ``predict``.
            advice: what else would help; None: made here if seconds are predicted.
            static: leave out the part of the page that recomputes, and every script.
            step: is called with each step, in words.

        Raises:
            OutputError: the folder cannot be made or written.
        """
        from foreread.analyzer.report.make import report  # noqa: PLC0415  (imports matplotlib)

        return report(
            self,
            output,
            prediction=prediction,
            sweep=sweep,
            tuning=tuning,
            device_model=device_model,
            advice=advice,
            static=static,
            step=step,
        )

    def __repr__(self) -> str:
        return "\n  ".join(self._lines())

    def _repr_html_(self) -> str:
        title, *others = map(escape, self._lines())
        return f"<p><strong>{title}</strong><br>{'<br>'.join(others)}</p>"

    def _lines(self) -> list[str]:
        """Return the command, the machine, the numbers, and how to go on."""
        capture, window = self.capture, self.recorded_read_ahead_kb
        command, took = capture.command, capture.wall_seconds
        what = str(self.path) if command is None else " ".join(map(quote, command))
        by = self.trace.format if took is None else f"by {capture.backend}, {took:.2f} s"
        at = "an unknown window" if window is None else f"{window} KiB"
        machine = capture.host.machine if capture.host else "an unknown machine"
        kernel, page_kib = self.kernel or "of an unknown version", self.page_size // KIB
        lost = sum(max(events, 0) for events in self.trace.lost.values())
        return [
            visible(f"Start of {what}", _LONGEST),
            visible(f"Linux {kernel} on {machine}, pages of {page_kib} KiB", _LONGEST),
            visible(f"recorded at {at} {by}; {plural(lost, 'event')} lost", _LONGEST),
            f"{plural(self.accesses.rows, 'page')} of {plural(self.files.rows, 'file')} accessed, "
            f"{plural(self.requests.rows, 'request')}",
            'next: start.predict(), start.advise(), start.report("report")',
        ]


@checked
def load(
    path: StrPath,
    pids: Pids = "tree",
    *,
    page_size: int | None = None,
    inodes: StrPath | None = None,
) -> Start:
    """Read a capture (a folder or an archive) or a trace of another tool.

    Args:
        path: of the capture or of the trace.
        pids: the threads that count as the application: "tree" (the command's processes; all, if
            the file does not name the command), "all", or a frozenset of thread ids.
        page_size: of the traced kernel in bytes, for a trace that does not contain it.
        inodes: a list of the board's files, for a trace of another tool.

    Raises:
        TraceError: the file cannot be read, or nothing in it can be emulated.
        CaptureError: the capture is damaged, or was interrupted.
    """
    return Start(**_shallow(reader.load(path, pids, page_size=page_size, inodes=inodes)))


def _shallow(result: Any) -> dict[str, Any]:
    """Return the fields of a dataclass; what they refer to is shared."""
    return {field.name: getattr(result, field.name) for field in fields(result)}


predict, advise = Start.predict, Start.advise
