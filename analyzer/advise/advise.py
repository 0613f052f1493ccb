"""Everything that one start shows could be better, in one table: the way in."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from foreread.analyzer.advise.access_offers import accesses
from foreread.analyzer.advise.applications import early
from foreread.analyzer.advise.bench import NOTHING, Bench, Chosen
from foreread.analyzer.advise.document import AdviceDocument, AdviceRange, AdviceRow
from foreread.analyzer.advise.linking import orders, unplaced
from foreread.analyzer.advise.lists import groups, whole_list
from foreread.analyzer.advise.lookups import lookups, second_reads, unseen_lookups
from foreread.analyzer.advise.offer import KINDS, Offer, trial_of
from foreread.analyzer.advise.search import MORE, best_combinations
from foreread.analyzer.advise.settings import (
    best_alone,
    settings,
    unpredicted_settings,
    with_windows,
)
from foreread.analyzer.advise.shim_list import (
    SHIM,
    SHIM_SOURCE,
    how_to_preload,
    list_of,
    shim_source,
)
from foreread.analyzer.advise.situation import AdviceError, Situation, situation_of
from foreread.analyzer.advise.windows import phases, proposed, setting, windows
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.shown_table import html_of, text_of
from foreread.analyzer.ingest.tables import TEXT, Column, Schema, Table
from foreread.analyzer.predict.choice import check_same
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.analyzer.predict.holds_for import machine
from foreread.analyzer.predict.linux import PREFIX
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.predict.tables import table_of
from foreread.boards.base.document import Document
from foreread.boards.base.note import Note, NoteKind
from foreread.boards.base.silent import silent
from foreread.boards.base.written import write_whole
from foreread.emulator.devices.device import DeviceModel

DOCUMENT = "advice.json"
OUTPUT = "advice"  # the folder that the table's commands name
MOST_LINES = 10  # of advice about files and processes
_IN_COMBINATIONS = 5  # of these lines
# Further sources (images) are called with the situation; strings that they yield are notes.
Source = Callable[[Situation], Iterable[Offer | str]]
NOBODY: tuple[Source, ...] = ()
LINES: tuple[Callable[[Situation], Iterable[Offer]], ...] = (
    early,
    accesses,
    orders,
    groups,
    lookups,
    second_reads,
)

ADVICE = Schema(
    "advice",
    (
        Column("row", "i8", "", "rank, as --row of foreread confirm takes it"),
        Column("seconds", "f8", "s", "predicted seconds of the start with the change"),
        Column("saved", "f8", "s", "predicted seconds that the change saves"),
        Column("band", "f8", "s", "the saving is known to within this, either way"),
        Column("what", TEXT, "", "the change"),
        Column("effort", TEXT, "", "where the change is made"),
    ),
)


@dataclass(frozen=True, repr=False, eq=False)
class Advice:
    """The table, and the files that its rows refer to by name."""

    document: AdviceDocument
    lists: Mapping[str, bytes] = field(default_factory=dict)

    def write(self, folder: StrPath) -> None:
        """Write the table as advice.json into a folder, and the lists beside it."""
        write_advice(Path(folder), self.document, self.lists)

    @property
    def table(self) -> Table:
        """One row a change, or several together, the most seconds saved first."""
        rows = self.document.rows
        return table_of(
            ADVICE,
            {
                "row": range(1, len(rows) + 1),
                "seconds": [row.seconds for row in rows],
                "saved": [row.saved for row in rows],
                "band": [row.band for row in rows],
                "effort": [row.effort for row in rows],
                "what": [row.what for row in rows],
            },
        )

    def __repr__(self) -> str:
        size, *rows = text_of(self.table).splitlines()
        return "\n".join([f"{self._answer()} ({size})", *rows])

    def _repr_html_(self) -> str:
        return f"<p><strong>{escape(self._answer())}</strong></p>{html_of(self.table)}"

    def _answer(self) -> str:
        now = self.document
        return f"Advice: {now.seconds:.3f} s predicted now, at {now.read_ahead_kb:,} KiB"


def write_advice(folder: Path, document: Document, lists: Mapping[str, bytes]) -> None:
    """Write a table as advice.json into a folder, which is made, and its lists beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in lists.items():
        write_whole(folder / name, content)
    write_whole(folder / DOCUMENT, f"{document.to_json()}\n".encode())


def advise(
    recording: Recording,
    more: Sequence[Recording] = (),
    device_model: DeviceModel | StrPath | None = None,
    model: str = PREFIX,
    root: StrPath | None = None,
    step: Callable[[str], None] = silent,
    sources: Sequence[Source] = NOBODY,
    prediction: Prediction | None = None,
    output: StrPath = OUTPUT,
    source: StrPath | None = None,
) -> Advice:
    """Rank everything that would make a recorded start faster, by predicted seconds.

    Each row is the timed replay of the start with that change made. A row is shown if it saves more
    than the band of the saving.

    Args:
        recording: a start, read by :func:`foreread.load`.
        more: further recordings of the same start on the same board.
        device_model: what requests of the disk cost, as in :func:`foreread.predict`.
        model: "linux" (the recording's kernel) or "linux-X.Y".
        root: a folder with the board's files, from which symbols are read.
        step: is called with each step, in words.
        sources: make further offers, and notes (:func:`image_offers`).
        prediction: the prediction of the recordings, by seconds; None: made here.
        output: the folder that the table will be written to, for the commands that read it.
        source: a source file of the application: advice for single files gets a patch of it.

    Raises:
        AdviceError: seconds cannot be predicted, or ``root`` is missing.
        ChoiceError, DeviceModelError, KernelError: as ``predict`` raises them.
    """
    for other in more:
        check_same(recording, other)
    folder = None if root is None else Path(root)
    if folder is not None and not folder.is_dir():
        raise AdviceError(f"{folder} is not a folder", "give a folder that has the board's files")
    own_source = None if source is None else Path(source)
    if prediction is None:
        step("predicting every window")
    device = device_from(device_model)
    situation = situation_of([recording, *more], device, model, folder, prediction, own_source)
    bench = Bench(situation)
    step("replaying the start with changes")
    by_window = windows(situation)
    window = proposed(situation, by_window)
    listed = whole_list(situation)
    general = [offer for offer in (window, listed) if offer]
    best = frozenset([window]) if window else NOTHING
    values = settings(situation)
    bench.replay(changes | {offer} for offer in values for changes in (NOTHING, best))
    genes = [offer for offer in values if _most_saved(bench, offer, best) > 0]
    general += best_alone(bench, genes)
    if sources:
        step("comparing images")
    further = [contribution for source in sources for contribution in source(situation)]
    general += [contribution for contribution in further if isinstance(contribution, Offer)]
    offers = [offer for source in LINES for offer in source(situation)]
    bench.replay(changes | {offer} for offer in offers for changes in (NOTHING, best))
    lines = _lines(bench, offers)
    step("replaying the start with windows in phases")
    in_phases = [offer for offer in phases(bench) if bench.worth(frozenset([offer]), best, MORE)]
    shown = [offer for offer in (*general, *in_phases) if bench.worth(frozenset([offer]))] + lines
    step("replaying combinations of changes")
    kept = [offer for offer in general if offer is not window and offer.kind != "setting"]
    promising = _promising(bench, offers, best)
    pool = [*by_window.values(), *in_phases, *kept, *genes, *promising]
    # What the board can have as it is gets rows of its own: a new build may be out of reach.
    ready = [offer for offer in pool if offer.trial is not None]
    advised = _promising(bench, [offer for offer in offers if offer.kind == "access"], best)
    with_window = [*by_window.values(), *advised] if advised else []
    best_of_pools = [best_combinations(bench, some) for some in (pool, ready, with_window)]
    joint = with_windows(bench, genes, by_window.values())
    together = dict.fromkeys(
        [*(combination for some in best_of_pools for combination in some), *joint]
    )
    chosen = sorted(
        [*(frozenset([offer]) for offer in shown), *together],
        key=lambda combination: bench.cost(combination).seconds,
    )
    table = f"{output}/{DOCUMENT}"
    rows = [_row(bench, rank, chosen, table) for rank in range(1, len(chosen) + 1)]
    lists = {
        name: text
        for combination in chosen
        for offer in combination
        for name, text in offer.lists.items()
    }
    lists |= _shim_files(rows)
    notes = [contribution for contribution in further if isinstance(contribution, str)]
    return Advice(_document(bench, rows, notes), lists)


def _shim_files(rows: Sequence[AdviceRow]) -> dict[str, bytes]:
    """Return the lists of the preload shim, and its source if a row needs it."""
    trials = {rank: row.trial for rank, row in enumerate(rows, 1)}
    lists = {
        _shim_list(rank): list_of(trial.advice)
        for rank, trial in trials.items()
        if trial is not None and trial.advice
    }
    return {**lists, SHIM_SOURCE: shim_source()} if lists else {}


def _shim_list(rank: int) -> str:
    return f"row-{rank}.advice"


def _lines(bench: Bench, offers: Sequence[Offer]) -> list[Offer]:
    """Return the advice about files and processes that saves more than the band, best first.

    Of the ways in which the application can read a file earlier the best; of lists that are read
    beside the start none that has a file of a better one.
    """
    lines: list[Offer] = []
    marked: set[str] = set()
    for offer in sorted(offers, key=lambda candidate: -bench.saved(frozenset([candidate]))):
        if len(lines) == MOST_LINES or bench.saved(frozenset([offer])) <= 0:
            break
        marks = offer.files or {offer.gene}
        if not marked & marks and bench.worth(frozenset([offer])):
            lines.append(offer)
            marked |= marks
    return lines


def _promising(bench: Bench, offers: Sequence[Offer], window: Chosen) -> list[Offer]:
    """Return the advice to search combinations with: what saves most, now or with the ``window``.

    A change may help with a small window alone, where the present one reads whole files.
    """
    ranked = sorted(offers, key=lambda offer: _most_saved(bench, offer, window), reverse=True)
    return [offer for offer in ranked[:_IN_COMBINATIONS] if _most_saved(bench, offer, window) > 0]


def _most_saved(bench: Bench, offer: Offer, window: Chosen) -> float:
    """Return the seconds that an offer saves, now or with the ``window``."""
    together = bench.saved(window | {offer}, window) if window else 0.0
    return max(bench.saved(frozenset([offer])), together)


def _row(bench: Bench, rank: int, ranked: Sequence[Chosen], table: str) -> AdviceRow:
    """Return the row of a rank: an offer, or several together; ``table`` is the document's path."""
    chosen = ranked[rank - 1]
    offers = sorted(chosen, key=lambda offer: (-KINDS.index(offer.kind), offer.what))
    cost = bench.cost(chosen)
    alone = len(offers) == 1
    singles = {
        next(iter(combination)): rank
        for rank, combination in enumerate(ranked, 1)
        if len(combination) == 1
    }
    trial = trial_of(offers)
    how = [line for offer in offers for line in offer.how]
    lists = sorted(name for offer in offers for name in offer.lists)
    if trial is not None and trial.advice:
        how += how_to_preload(_shim_list(rank))
        lists += [_shim_list(rank), SHIM_SOURCE]
    return AdviceRow(
        kind=offers[0].kind if alone else "combination",
        what=" + ".join(offer.what for offer in offers),
        seconds=cost.seconds,
        saved=bench.saved(chosen),
        band=bench.band(chosen),
        memory_bytes=cost.read_bytes - bench.cost().read_bytes,
        image_bytes=sum(offer.image_bytes for offer in offers),
        flash_bytes=sum(offer.flash_bytes for offer in offers),
        effort=", ".join(dict.fromkeys(offer.effort for offer in offers)),
        risk="; ".join(dict.fromkeys(offer.risk for offer in offers)),
        how=how,
        measure=_measure(bench.situation, offers, table, rank),
        trial=trial,
        lists=lists,
        ranges=[AdviceRange(*part) for offer in offers for part in offer.ranges],
        parts=[] if alone else [singles[offer] for offer in offers if offer in singles],
    )


def _measure(situation: Situation, offers: Sequence[Offer], table: str, rank: int) -> str:
    """Return the command that measures a row; a build has to be made before its sweep."""
    path = shlex.quote(situation.path)
    trial = trial_of(offers)
    if trial is not None:
        shim = f" --shim {SHIM}" if trial.advice else ""
        return f"foreread confirm {path} --advice {shlex.quote(table)} --row {rank}{shim}"
    windows = [offer.trial.read_ahead_kb for offer in offers if offer.trial is not None]
    kib = next((window for window in windows if window is not None), situation.kib(situation.now))
    return (
        f"foreread sweep --windows {kib} -o sweep.json {path}  "
        "# once with the present build, once with the new one"
    )


def _document(bench: Bench, rows: list[AdviceRow], further_notes: list[str]) -> AdviceDocument:
    situation = bench.situation
    prediction = situation.prediction
    now = bench.cost()
    notes = [
        *_about_windows(situation),
        *unpredicted_settings(situation),
        *unseen_lookups(bench),
        *unplaced(situation),
        *further_notes,
    ]
    capture = situation.recording.capture
    return AdviceDocument(
        command=capture.command or [],
        recorded=capture.created,
        kernel=prediction.kernel,
        model=prediction.model,
        disk=prediction.disk_cost,
        read_ahead_kb=situation.kib(situation.now),
        seconds=now.seconds,
        read_bytes=now.read_bytes,
        rows=rows,
        tried=bench.replayed,
        notes=notes,
        doubts=[*prediction.doubts],
    )


def _about_windows(situation: Situation) -> list[str]:
    verdict, loads = situation.prediction.verdict, situation.prediction.loads
    notes: list[str] = []
    if loads is not None and loads.beside:
        to_set = f"; to set it: {setting(situation)}" if verdict.action == "set" else ""
        text = (
            f"seconds are of an idle machine; the window is that of {machine(loads.beside)}: "
            f"{verdict.why}{to_set}"
        )
        notes.append(Note(text, NoteKind.ANSWER))
    if verdict.action == "set":
        return notes
    return [*notes, f"no other window is proposed ({verdict.action}): {verdict.why}"]
