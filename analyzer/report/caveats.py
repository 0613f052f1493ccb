"""What limits a report's answer, and what was lost of the recording."""

from __future__ import annotations

from foreread.analyzer.ingest.losses import lost_events
from foreread.analyzer.report.subject import Subject
from foreread.boards.base.counted import plural

UNANSWERED = 0.01  # share of reads without a completion from which on the report warns


def caveats(subject: Subject) -> list[str]:
    """Return the limits of the answer, the most serious first."""
    recording, capture = subject.recording, subject.recording.capture
    cautions = []
    if recording.contaminated:
        cautions.append(
            "The recording is contaminated: it was not made at read_ahead_kb=0, so pages that the "
            "kernel's readahead brought in are mixed with those the application touched. "
            "Record again at read_ahead_kb=0."
        )
    lost = lost_events(recording)
    if lost:
        cautions.append(
            f"At least {plural(lost, 'event')} lost: pages are missing from every figure here. "
            "Record again with larger buffers."
        )
    if capture.cold is None:
        cautions.append(
            "A foreign trace without foreread's metadata: board, command, file sizes and cold "
            "caches are unknown."
        )
    elif not capture.cold.proven:
        cautions.append(
            "The caches could not be shown to be cold before the run: pages may be missing."
        )
    if capture.signal or capture.exit_status:
        end = f"signal {capture.signal}" if capture.signal else f"status {capture.exit_status}"
        cautions.append(
            f"The command failed ({end}): the recording may not contain a complete start-up."
        )
    if subject.unanswered > UNANSWERED * subject.reads.sum():
        cautions.append(f"{plural(subject.unanswered, 'read')} without a recorded completion.")
    return cautions + _model_limits(subject)


def _model_limits(subject: Subject) -> list[str]:
    limits = []
    if subject.prediction.model == "fixed":
        limits.append(
            "The fixed-window model reads a whole window at every miss and no metadata; the "
            "kernel grows and shrinks its window, and reads metadata too."
        )
    if subject.prediction.verdict.by == "criterion":
        limits.append(
            "The published criterion F² + G² gave the answer, as asked: it ignores the speed of "
            "the disk and gives a request and an unused page the same weight."
        )
    return limits + [sentence(doubt) for doubt in subject.prediction.doubts]


def sentence(text: str) -> str:
    """Return a text with a capital first letter and a full stop."""
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
