"""Makes the board report of a recording or of a tuning: predicts, compares, lists, and writes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from foreread.analyzer.advise.advise import Advice, advise
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.analyzer.predict.linux import PREFIX
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.predict.validate import validate
from foreread.analyzer.prefetch import PrefetchError, compare
from foreread.analyzer.prefetch.measured import Listed, read_measurement
from foreread.analyzer.report.live.inputs import live_inputs
from foreread.analyzer.report.write import ReportFiles, write_report, write_tuning_report
from foreread.analyzer.tuner.findings.results import Results
from foreread.boards.base.outputs import check_folder
from foreread.boards.base.silent import silent
from foreread.emulator.devices.device import DeviceModel
from foreread.tracer.formats.sweep import Sweep

DRAWING = "drawing figures"


def report(
    of: Recording | Results,
    output: StrPath,
    *,
    prediction: Prediction | None = None,
    sweep: Sweep | None = None,
    tuning: Results | None = None,
    device_model: DeviceModel | StrPath | None = None,
    prefetch_runs: StrPath | None = None,
    advice: Advice | None = None,
    static: bool = False,
    step: Callable[[str], None] = silent,
    part: Callable[[str, int, int], None] = silent,
) -> ReportFiles:
    """Write the board report into the folder ``output``: HTML, PDF, a PNG of each figure, JSON.

    Args:
        of: a start, read by :func:`foreread.load`, or the results of a tuning.
        output: the folder, created if needed.
        prediction: of the recording; None: made here.
        sweep: measured runs to compare the prediction with.
        tuning: results to show with the recording.
        device_model: what requests of the disk cost, as in :func:`foreread.predict`.
        prefetch_runs: measured.json of studies/prefetch.
        advice: what else would help; None: made here if the prediction has seconds.
        static: leave out the part of the page that recomputes, and every script.
        step: is called with each step, in words.
        part: is called with a step's words, how many of its parts are done, and their total.

    Raises:
        PrefetchError: ``prefetch_runs`` is given, and there is no list to compare it with.
        OutputError: the folder cannot be made or written.
        OSError: writing failed.
    """
    folder, drawn = Path(output), partial(part, DRAWING)
    check_folder(folder, "output")
    if isinstance(of, Results):
        step(DRAWING)
        return write_tuning_report(of, folder, drawn)
    if prediction is None:
        step("predicting every window")
        prediction = predict_by(of, device_model=device_model)
    validation = None if sweep is None else validate(prediction, sweep, of.capture)
    step("predicting window against prefetch list")
    listed = _listed(of, prediction, device_model, prefetch_runs)
    if advice is None and prediction.total.seconds is not None:
        advice = advise(of, device_model=device_model, prediction=prediction, step=step)
    table = None if advice is None else advice.document
    step(DRAWING)
    device = device_from(device_model)
    return write_report(
        of,
        prediction,
        sweep,
        validation,
        folder,
        listed,
        tuning,
        drawn,
        table,
        None if static else partial(live_inputs, device=device),
    )


def _listed(
    recording: Recording,
    prediction: Prediction,
    device_model: DeviceModel | StrPath | None,
    prefetch_runs: StrPath | None,
) -> Listed | None:
    """Return what the prefetch list of the recording does; None where none can be made."""
    runs = None if prefetch_runs is None else read_measurement(Path(prefetch_runs))
    try:
        if not prediction.model.startswith(PREFIX):
            raise PrefetchError("a prefetch list needs the kernel's model", "add --model linux")
        return Listed(
            compare(recording, device_model=device_model, prediction=prediction),
            runs,
        )
    except PrefetchError:
        if runs is not None:
            raise
        return None
