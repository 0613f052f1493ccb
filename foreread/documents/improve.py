"""improve.json: what ``foreread improve`` has done, and what it answers."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from foreread.boards.base.document import Document, says
from foreread.tracer.formats.confirmation import Outcome

State = Literal["done", "kept", "failed", "interrupted"]
Verdict = Literal["confirmed", "predicted", "tuned", "keep", "unknown"]
NO_ANSWER = "there is no answer yet"


class ImproveStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step: an ordinary command line of foreread, and how it ended."""

    name: str
    command: Annotated[str, says("command line that does this step alone")]
    state: Annotated[
        State, says("kept: the outputs of an earlier call were complete, and were not made again")
    ]
    seconds: Annotated[float, says("seconds that the step took; of a kept one: when it was done")]
    result: Annotated[str, says("result or error, in words")]
    outputs: Annotated[list[str], says("files and folders that it wrote, below the folder")]
    rests_on: Annotated[str, says("identity of the earlier results that the outputs rest on")]


class ImproveParts(msgspec.Struct, frozen=True, kw_only=True):
    """What the start waits for at the present window; the parts add up to the predicted seconds."""

    computing: Annotated[float, says("seconds of computing")]
    needed_pages: Annotated[float, says("seconds of waiting for pages that the start uses")]
    unused_pages: Annotated[float, says("seconds in which the disk reads unused pages")]
    asleep: Annotated[float, says("seconds of waiting for timers, other processes or the network")]


class ImproveNow(msgspec.Struct, frozen=True, kw_only=True):
    """The start as it is."""

    read_ahead_kb: Annotated[int, says("the present window in KiB")]
    seconds: Annotated[float | None, says("predicted seconds; null: they cannot be predicted")]
    parts: Annotated[ImproveParts | None, says("null: the seconds cannot be divided")] = None
    recorded_seconds: Annotated[float, says("seconds of the recorded run, which had no readahead")]


class ImproveMeasured(msgspec.Struct, frozen=True, kw_only=True):
    """Cold runs without and with a remedy, in alternation."""

    outcome: Outcome
    pairs: int
    seconds_now: Annotated[float | None, says("mean of the runs without the remedy")]
    seconds: Annotated[float | None, says("mean of the runs with it")]
    gain: Annotated[float | None, says("share of the present time that it saves")]
    low: Annotated[float | None, says("lower bound of the gain (95 %)")]
    high: Annotated[float | None, says("upper bound of the gain (95 %)")]


class ImproveRemedy(msgspec.Struct, frozen=True, kw_only=True):
    """One of the best remedies, as ``foreread advise`` ranks them."""

    row: Annotated[int, says("its row in advice.json, from 1")]
    what: Annotated[str, says("the change, in words")]
    seconds: Annotated[float, says("predicted seconds with it")]
    band: Annotated[float, says("the saving is known to within this, either way")]
    effort: str
    by_script: Annotated[bool, says("the boot script can apply it, and runs can measure it")]
    measured: Annotated[ImproveMeasured | None, says("null: it was not measured")] = None


class ImproveTuned(msgspec.Struct, frozen=True, kw_only=True):
    """What the tuning found; changes are parts of the time: -0.12 saves 12 %."""

    settings: Annotated[dict[str, str | int], says("settings to change; empty: none is faster")]
    effect: Annotated[float | None, says("change of the time against the board's settings")]
    low: float | None
    high: float | None
    seconds_now: Annotated[float | None, says("median of idle runs with the board's settings")]
    seconds: Annotated[float | None, says("median of idle runs with the tuned settings")]


class ImproveDisk(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one disk of a suite's board; seconds are weighted sums over its starts."""

    board: str
    disk: str
    read_ahead_kb_now: int | None
    read_ahead_kb: Annotated[int | None, says("window to set in KiB; null: keep the present one")]
    seconds_now: Annotated[float | None, says("predicted")]
    seconds: Annotated[float | None, says("predicted at the window of the answer")]
    why: str
    outcome: Annotated[Outcome | None, says("of the runs that measured it; null: none did")] = None
    gain: Annotated[float | None, says("measured share of the present time that it saves")] = None
    low: float | None = None
    high: float | None = None


class ImproveNext(msgspec.Struct, frozen=True, kw_only=True):
    """What to type next."""

    what: str
    command: str


class ImproveDocument(Document, frozen=True, kw_only=True):
    """improve.json, and what ``improve --json`` prints."""

    foreread: Annotated[str, says("version that wrote this")]
    command: Annotated[list[str], says("the command that is improved; empty for a suite")]
    options: Annotated[list[str], says("options of foreread record that repeat its run")]
    suite: Annotated[str | None, says("path of the suite; null: one command")]
    steps: list[ImproveStep]
    verdict: Annotated[
        Verdict,
        says(
            "confirmed: measured runs show that the first answer is faster; tuned: so do the runs "
            "of the tuning; predicted: nothing could be measured; keep: nothing is known to be "
            "faster; unknown: no answer yet"
        ),
    ] = "unknown"
    answer: Annotated[str, says("the answer in one sentence")] = NO_ANSWER
    now: Annotated[ImproveNow | None, says("null: nothing was predicted, or a suite")] = None
    remedies: Annotated[list[ImproveRemedy], says("the best remedies, fastest first")] = (
        msgspec.field(default_factory=list)
    )
    tuned: Annotated[ImproveTuned | None, says("null: nothing was tuned")] = None
    disks: Annotated[list[ImproveDisk], says("of a suite: the answer for each disk")] = (
        msgspec.field(default_factory=list)
    )
    next: Annotated[list[ImproveNext], says("command lines to type next")] = msgspec.field(
        default_factory=list
    )
