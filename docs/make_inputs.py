"""Writes the page of the inputs: ``python docs/make_inputs.py > docs/reference/inputs.md``."""

from analyzer.predict.basis import LACKS, Answer

_ANSWERS = {
    Answer.NONE: "*none*",
    Answer.SECONDS: "*set*, *keep* by seconds",
    Answer.CRITERION: "*set*, *keep* by F² + G²",
}
_WHOLE = (
    ("a capture", "`foreread record`, at window 0", "yes", "yes", "yes"),
    (
        "a trace of another tool",
        "recorded at window 0, with `block:block_bio_queue`; losses are counted",
        "yes",
        "with `--model linux-X.Y`, and `--device-model FILE` unless its requests show the disk",
        "yes",
    ),
    ("requests alone", "`blktrace`", "refused", "refused", "refused"),
)
_BEFORE = """# What each input can answer

For readers who have a trace and ask what it is good for. Made by `python docs/make_inputs.py` from
`analyzer/predict/basis.py`. A verdict that an input does not support is *measure*, with the reason
and the command to type. Requests and pages by window are predicted in any case, with a doubt for
what is missing (`doubts` and `lost_events` of `predict --json`).
"""
_AFTER = """
An input that lacks several things supports what each row allows. Pages whose read is not seen count
as read. [Predict from a trace that exists already](../howto/foreign-traces.md) says how to record
what is missing.
"""


def text() -> str:
    """Return the page."""
    rows = [("input", "for example", *_ANSWERS.values()), ("---",) * (2 + len(_ANSWERS)), *_WHOLE]
    for lack in LACKS:
        cells = ("no" if answer in lack.withheld else "yes" for answer in _ANSWERS)
        rows.append((f"without {lack.name}", lack.example, *cells))
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{_BEFORE}\n{table}\n{_AFTER}"


if __name__ == "__main__":
    print(text(), end="")
