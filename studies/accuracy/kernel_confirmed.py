"""Which kernels and CPUs the stored cells confirm, and the table of those that predictions know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from foreread.analyzer.predict.doubts.kernel import PAGES, SECONDS, Judged
from studies.accuracy.figures import FIXED_COST
from studies.accuracy.markdown import markdown

STARTS = 3  # of a complete cell
_COMPARED_HEAD = ("kernel", "CPU", "pages and requests", "seconds")
# What ``uname -m`` says on a board, with its pages if they are larger (doubts/kernel.py).
UNAME = {
    "arm64": "aarch64",
    "arm64-16k": "aarch64 with pages of 16 KiB",
    "armhf": "armv7l",
    "mipsel": "mips",
}
Figures = Sequence[Mapping[str, Any]]
Setting = tuple[tuple[int, int], str]


def compared() -> list[str]:
    """Return the table of the setups compared: file systems by kernel and CPU."""
    rows = sorted(
        {(series, machine) for judged in (PAGES, SECONDS) for series, machine in _of(judged)}
    )
    return markdown(
        _COMPARED_HEAD,
        (
            (
                ".".join(map(str, series)),
                machine,
                *(
                    ", ".join(sorted(judged.get(series, {}).get(machine, ()))) or "–"
                    for judged in (PAGES, SECONDS)
                ),
            )
            for series, machine in rows
        ),
    )


def _of(judged: Judged) -> Iterable[Setting]:
    return ((series, machine) for series, machines in judged.items() for machine in machines)


def judged_alike(judged: Figures) -> set[Setting]:
    """Return the kernel series and machines of judgements without a difference."""
    return {_setting(judgement) for judgement in judged if judgement["result"] == "confirmed"}


def met(starts: Figures) -> set[Setting]:
    """Return the kernel series and machines where the seconds of enough starts met the targets."""
    return {_setting(some[0]) for some in of_boards(starts) if _met(some)}


def of_boards(starts: Figures) -> Iterable[Figures]:
    """Return the starts of each board."""
    boards = dict.fromkeys(map(board_of, starts))
    return ([start for start in starts if board_of(start) == board] for board in boards)


def _met(starts: Figures) -> bool:
    errors = [errors_of(start, "seconds") for start in starts]
    if len(starts) < STARTS or not all(errors):
        return False
    return (
        median(median(each) for each in errors) <= FIXED_COST.median_error
        and max(max(each) for each in errors) <= FIXED_COST.worst_error
        and all((start["regret"] or 0) <= FIXED_COST.regret for start in starts)
    )


def _setting(cell: Mapping[str, Any]) -> Setting:
    machine, series = board_of(cell)
    major, minor = map(int, series.split("."))
    return (major, minor), UNAME.get(machine, machine)


def board_of(cell: Mapping[str, Any]) -> tuple[str, str]:
    """Return the board and the kernel series of a cell."""
    return cell["machine"], cell["series"]


def errors_of(cell: Mapping[str, Any], name: str) -> list[float]:
    """Return the errors at the windows of a cell that have both sides, without signs."""
    pairs = [(point["predicted"][name], point["measured"][name]) for point in cell["points"]]
    return [abs(a - b) / b for a, b in pairs if a is not None and b]
