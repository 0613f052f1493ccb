"""Predicts, from one recording, what every fixed window would have read."""

from __future__ import annotations

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict import remedy
from foreread.analyzer.predict.conclusion import conclude
from foreread.analyzer.predict.counts import WindowError, count_fixed
from foreread.analyzer.predict.doubts.counts import of_counts
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.predict.verdict import Missing

__all__ = ["WindowError", "predict"]

NEEDS_CAPTURE = "predicted seconds need a capture of foreread record, made at read_ahead_kb=0"
ROUGH = "; --model linux-X.Y with --device-model FILE predicts rough ones"


def predict(recording: Recording, windows: list[int] | None = None) -> Prediction:
    """Predict F, G and C_opt of the fixed-window model, by disk and in total.

    ``windows`` are in pages (default: 0..1023, and that in force if it is larger); a subset is
    what the optimum is chosen from, too.
    Disks are sorted by falling number of pages accessed. Raises WindowError for invalid windows.
    Source: emulator/fixed.py, analyzer/predict/criterion.py.
    """
    counts = count_fixed(recording, windows)
    return conclude(counts, _no_seconds(recording), of_counts(counts))


def _no_seconds(recording: Recording) -> Missing:
    """Return why the fixed window has no seconds, and the command that obtains them."""
    if recording.capture.read_ahead_kb is None or recording.contaminated:
        rough = "" if recording.contaminated else ROUGH
        return Missing(f"{NEEDS_CAPTURE}{rough}", remedy.record_again(recording))
    return Missing("the fixed-window model predicts no seconds", remedy.with_seconds(recording))
