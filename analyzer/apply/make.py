"""Makes the boot script of a prediction or a tuning: decided, checked by measurements, written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from foreread.analyzer.apply.plan import (
    DEFAULT_ATTEMPTS,
    STATE_DIR,
    ApplyError,
    ApplyPlan,
    Prefetch,
)
from foreread.analyzer.apply.predicted import plan_from
from foreread.analyzer.apply.tuned import plan_of_tuning
from foreread.analyzer.apply.write import REPLAYER_SCRIPT, shipped, write_scripts
from foreread.analyzer.confirm.text import cited, contradicting, stored, warnings_of
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.predict.kib import whole_pages
from foreread.analyzer.predict.memory import available_kib, shortage
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.prefetch.listing import read_listing
from foreread.analyzer.tuner.findings.results import Results
from foreread.boards.base.bounded import UnboundedError, read_bounded
from foreread.boards.base.brief import brief
from foreread.boards.base.silent import silent
from foreread.boards.base.units import kib_to_pages, size_word
from foreread.tracer.formats.capture import NO_METADATA, Metadata
from foreread.tracer.formats.scenario import MEMORY

_LARGEST_REPLAYER = 64 << 20  # bytes; the C one with a static libc has under 1 MiB
_PROGRAMS = (b"\x7fELF", b"#!")
_REPLAYER_REMEDY = "give foreread-prefetch.c compiled for the board, or leave --replayer out"


@dataclass(frozen=True, repr=False)
class Script:
    """The files that were written, the script first, and what they set."""

    __repr__ = brief

    plan: ApplyPlan
    files: tuple[Path, ...]


def script(
    of: Prediction | Results,
    output: StrPath,
    *,
    capture: Metadata = NO_METADATA,
    read_ahead_kb: int | None = None,
    after_boot_kb: int | None = None,
    after_seconds: int | None = None,
    restore_on_stop: bool = True,
    prefetch: StrPath | None = None,
    replayer: StrPath | None = None,
    attempts: int = DEFAULT_ATTEMPTS,
    state_dir: str = STATE_DIR,
    disks: Mapping[str, str] | None = None,
    force: bool = False,
    allow: Collection[str] = (),
    tell: Callable[[str], None] = silent,
) -> Script:
    """Write the boot script that applies a prediction or a tuning, and files to install it.

    Nothing is changed on any machine: :func:`foreread.install` puts the script on a board.

    Args:
        of: what :func:`foreread.predict` or :func:`foreread.tune` found.
        output: the folder to write to.
        capture: of a prediction, what was recorded (``Recording.capture``): the script then checks
            that it runs on the recorded board.
        read_ahead_kb: set this window instead of the predicted one.
        after_boot_kb: switch to this window when the board has booted.
        after_seconds: the boot is over so many seconds after its start; None: when the script is
            called with ``boot-done``.
        restore_on_stop: ``stop`` restores the values that the script found.
        prefetch: a list that ``prefetch`` wrote, to be read while the board boots.
        replayer: the program that reads the list; None: a shell script, which needs dd.
        attempts: leave the board's defaults after so many boots in a row that did not reach
            ``boot-done``; 0: never.
        state_dir: the board's folder where such boots are counted; it must survive a power cut
            and be writable when the script runs.
        disks: for a trace that has numbers of disks only: the name of each disk, or a directory
            where it is mounted, by "major:minor".
        force: write a window that measured runs contradict.
        allow: with ``durability``, also set tuned values with which a power cut loses more data.
        tell: is called with notes about the window and about what a power cut may lose, in words.

    Raises:
        ArgumentError: a window that is not a whole number of pages.
        ApplyError: there is nothing to set, or it must not be set; ``remedy`` says what to do.
        PrefetchError: ``prefetch`` is not a list.
        OSError: ``prefetch`` or ``replayer`` cannot be read.
    """
    replayed = None if prefetch is None else replay_of(prefetch, replayer)
    if isinstance(of, Results):
        if capture.host or disks or (read_ahead_kb, after_boot_kb) != (None, None):
            raise ApplyError(
                "a tuning sets its own values: no capture, disk or window can be given with it",
                "leave these arguments out, or give a prediction",
            )
        plan = plan_of_tuning(
            of,
            boot_done_seconds=after_seconds,
            restore_on_stop=restore_on_stop,
            prefetch=replayed,
            attempts=attempts,
            state_dir=state_dir,
            risked="durability" in allow,
        )
        for loss in plan.losses:
            tell(loss)
        return Script(plan, tuple(write_scripts(plan, Path(output))))
    for kb in (read_ahead_kb, after_boot_kb):
        if kb is not None:
            whole_pages(kb, of.page_size)
    asked_kb = _asked(of, read_ahead_kb, tell)
    _check_contradicted(of, capture, asked_kb, force, tell)
    plan = plan_from(
        of,
        capture,
        read_ahead_kb=asked_kb,
        after_boot_read_ahead_kb=after_boot_kb,
        boot_done_seconds=after_seconds,
        restore_on_stop=restore_on_stop,
        prefetch=replayed,
        attempts=attempts,
        state_dir=state_dir,
        disks=disks,
    )
    return Script(plan, tuple(write_scripts(plan, Path(output))))


def replay_of(listing: StrPath, replayer: StrPath | None = None) -> Prefetch:
    """Return a list with the program that reads it; raises as ``script`` does."""
    text = read_listing(Path(listing))
    program = shipped(REPLAYER_SCRIPT) if replayer is None else _read(replayer)
    return Prefetch(text, program)


def _read(replayer: StrPath) -> bytes:
    try:
        program = read_bounded(replayer, _LARGEST_REPLAYER, _REPLAYER_REMEDY)
    except UnboundedError as error:
        raise ApplyError(str(error), _REPLAYER_REMEDY) from error
    if not program.startswith(_PROGRAMS):
        raise ApplyError(f"{replayer} is not a program", _REPLAYER_REMEDY)
    return program


def _asked(
    prediction: Prediction, read_ahead_kb: int | None, tell: Callable[[str], None]
) -> int | None:
    """Return the value to pin: with the verdict to keep, what the board has."""
    if read_ahead_kb is None and prediction.verdict.action == "keep":
        tell("the verdict is to keep the board's window; the script sets that value")
        return prediction.verdict.read_ahead_kb
    return read_ahead_kb


def _check_contradicted(
    prediction: Prediction,
    capture: Metadata,
    asked_kb: int | None,
    force: bool,
    tell: Callable[[str], None],
) -> None:
    """Refuse a window that measured runs speak against; say what runs show about any other."""
    kb = prediction.verdict.read_ahead_kb if asked_kb is None else asked_kb
    against = None if kb is None else contradicting(capture, kb)
    if against is not None and not force:
        raise ApplyError(
            f"the window is {cited(against)}",
            f"keep the present window with --read-ahead-kb {against.present_kb}, or write the "
            "script anyway with --force",
        )
    for confirmation in stored(capture):
        if confirmation.proposed_kb == kb:
            tell(cited(confirmation))
    for warning in (*warnings_of(capture, kb), *_short_of_memory(prediction, kb)):
        tell(f"warning: {warning}")


def _short_of_memory(prediction: Prediction, kb: int | None) -> Iterator[str]:
    """Yield how the recorded machine lacks memory for the window, if no size was asked about."""
    loads = prediction.loads
    if kb is None or (loads and loads.need) or not prediction.starts:
        return
    start = prediction.starts[0]
    available = available_kib(start)
    if available is None:
        return
    short = shortage(start, kib_to_pages(kb, prediction.page_size), available)
    if short is not None:
        yield f"{short}: choose the window with --load {MEMORY}{size_word(available)}"
