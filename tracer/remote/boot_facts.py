"""What a boot had done before its recording began, from the target's answer."""

from __future__ import annotations

from collections.abc import Sequence

from foreread.boards.base.counted import plural
from foreread.boards.base.units import KIB
from foreread.tracer.formats.capture import Boot, Origin, ReadBefore
from foreread.tracer.remote.job import Fact, making_sense
from foreread.tracer.remote.run_facts import by_key

_SECTOR_BYTES = 512
_BY_SCRIPTS = (
    "recorded from the first script that init runs: what init and systemd's generators did before "
    "it is not in the capture; record --boot --from init records that, too"
)


def boot_of(facts: Sequence[Fact]) -> tuple[Boot | None, list[str]]:
    """Return what precedes the recorded boot, None if ``facts`` are of a command, and notes.

    Raises RecordError.
    """
    lines = by_key(list(facts))
    if not lines["process"]:
        return None, []
    with making_sense("what the boot read before"):
        boot = Boot(
            recorded_from=_origin(lines["from"]),
            processes=sorted({int(line) for line in lines["process"]}),
            read_before=[_read(line) for line in lines["before"] if line],
        )
    notes = [*map(_before_note, boot.read_before), *map(_late_note, lines["late"])]
    return boot, [*([_BY_SCRIPTS] if boot.recorded_from == "scripts" else []), *notes]


def _read(line: str) -> ReadBefore:
    disk, requests, sectors = line.split(" ")
    return ReadBefore(disk=disk, requests=int(requests), bytes=int(sectors) * _SECTOR_BYTES)


def _origin(lines: Sequence[str]) -> Origin:
    match lines:
        case ["init"]:
            return "init"
        case ["scripts"]:
            return "scripts"
    raise ValueError(f"recorded from {lines}")


def _before_note(read: ReadBefore) -> str:
    return (
        f"before the recording began, {plural(read.requests, 'request')} had read "
        f"{read.bytes // KIB:,} KiB from {read.disk}: they are not in the capture"
    )


def _late_note(disk: str) -> str:
    return f"{disk} appeared while the board booted: its window was the default one"
