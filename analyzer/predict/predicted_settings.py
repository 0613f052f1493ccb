"""The settings that a capture predicts for a board: what a tuning begins with."""

from __future__ import annotations

from collections.abc import Sequence

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.counts import emulated_window
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.predict.seconds import LADDER
from foreread.analyzer.predict.settings import (
    INODES,
    LARGEST,
    QUEUE,
    PredictedSettings,
    best_settings,
    settings_of,
)
from foreread.analyzer.predict.start import starts_of
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.linux.windows import MAX_WINDOW

PREDICTABLE = (INODES, LARGEST, QUEUE)


def predicted_settings(
    recordings: Sequence[Recording],
    prediction: Prediction,
    device: DeviceModel | None = None,
    genes: Sequence[str] = PREDICTABLE,
) -> PredictedSettings | None:
    """Return the window and the values of ``genes`` that are predicted to be best together.

    Args:
        recordings: of one start, which ``prediction`` is of.
        prediction: their prediction, by seconds.
        device: what requests of the disk cost, as the prediction had it; None: as recorded.
        genes: which of PREDICTABLE may be changed besides the window.

    Returns:
        None if no seconds are predicted. Its ``genes`` are empty where no value saves enough, or
        none can be predicted: then the window alone is all that is predicted.
    """
    if prediction.total.seconds is None:
        return None
    starts = starts_of(prediction, recordings, device)
    total = prediction.total
    wanted = {
        emulated_window(total.current_read_ahead_kb, prediction.page_size),
        total.predicted_best,
    }
    windows = {
        window for window in (*LADDER, *wanted) if window is not None and window <= MAX_WINDOW
    }
    return best_settings(starts, sorted(windows), settings_of(starts[0], genes))
