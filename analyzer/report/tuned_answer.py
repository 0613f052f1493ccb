"""The answer of a tuning of the recorded start, which overrules the prediction.

The window of the prediction is the best on an idle machine. A tuning has measured it, and others,
in the scenarios that the board meets.
"""

from __future__ import annotations

from foreread.analyzer.report.blocks import Block, Code, Paragraph
from foreread.analyzer.report.subject import Subject
from foreread.analyzer.report.tuning_wording import change_text, cost_name
from foreread.analyzer.report.wording import shell_words
from foreread.analyzer.tuner.findings.results import Results


def answering(subject: Subject) -> Results | None:
    """Return the tuning that has the answer: a confirmed one that knows of the predicted window.

    None, too, where scenarios took turns, which have an answer each, or where it is of another
    command or kernel than the recording.
    """
    results, capture = subject.tuned, subject.recording.capture
    if results is None or capture.host is None or results.takes_turns or results.predicted is None:
        return None
    spec = results.spec
    same = (list(spec.command), spec.board.kernel) == (capture.command, capture.host.kernel)
    return results if same and not results.confirmed.to_run else None


def tuned_headline(results: Results) -> str:
    """Return the answer in one line."""
    gains = results.confirmed.gains
    if not gains:
        return "Keep the current settings: none are measured to be faster"
    return f"Set {', '.join(f'{gain.gene} to {gain.allele}' for gain in gains)}"


def tuned_answer(results: Results, target: list[str]) -> list[Block]:
    """Return what the answer gains, and what the predicted window alone does.

    ``target``: the words of the command line for the recorded board, if it was a target.
    """
    confirmed, scenarios = results.confirmed, ", ".join(results.spec.scenarios)
    text = f"Measured on the board in the scenarios {scenarios}: {cost_name(results)} changes by "
    text += f"{change_text(confirmed.over_default)} against the present settings. "
    text += f"The predicted window alone changes it by {change_text(confirmed.predicted)}."
    blocks: list[Block] = [Paragraph(text)]
    if confirmed.gains:
        install = ["--install", *target] if target else []
        words = ["foreread", "script", "TUNING", "-o", "boot", *install]
        blocks += [Paragraph("At every boot:"), Code([shell_words(words)])]
    return blocks
