"""The options that repeat a recorded run, as words: a capture holds them, `record` writes them."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from foreread.boards.open import LOCAL
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import CaptureError, Metadata, Origin
from foreread.tracer.runs.options import Ending, RunOptions, Streams

_VALUED = {
    "--device",
    "--duration",
    "--from",
    "--identity",
    "--memory",
    "--read-ahead-kb",
    "--scenario",
    "--target",
    "--until-idle",
    "--until-output",
    "--user",
}


def words_of(run: RunOptions, read_ahead_kb: int = 0) -> tuple[str, ...]:
    """Return the options of a run and of its window."""
    given = {
        "--read-ahead-kb": read_ahead_kb or None,
        "--duration": run.ending.duration_s,
        "--until-idle": run.ending.idle_ms,
        "--until-output": run.ending.output,
        "--user": run.user,
    }
    words = [word for name, value in given.items() if value is not None for word in (name, value)]
    flags = {"--keep-running": run.keep_running, "--allow-warm": run.allow_warm}
    return tuple(map(str, [*words, *(name for name, on in flags.items() if on)]))


def words_of_boot(
    duration_s: float | None,
    output: str | None,
    read_ahead_kb: int = 0,
    start: Origin = "scripts",
) -> tuple[str, ...]:
    """Return the options of a recorded boot and of its window."""
    ending = Ending(duration_s, None, output)
    origin = () if start == "scripts" else ("--from", start)
    return ("--boot", *origin, *words_of(RunOptions([], ending), read_ahead_kb))


def command_line(words: Iterable[str]) -> str:
    """Return a command line of foreread for a shell."""
    return shlex.join(["foreread", *words])


def target_words(target: str, identity: Path | None = None) -> tuple[str, ...]:
    """Return the options that name a target and its ssh key; none for this machine."""
    if target == LOCAL:
        return ()
    key = () if identity is None else ("--identity", str(identity.absolute()))
    return ("--target", target, *key)


def recorded_run(capture: Metadata, streams: Streams) -> RunOptions:
    """Return the options that make the recorded run again; its output goes to ``streams``.

    Raises CaptureError.
    """
    if not capture.command:
        raise CaptureError(
            "the capture has no command", "record with foreread record -o CAPTURE -- COMMAND"
        )
    if capture.boot is not None:
        raise CaptureError(
            "the capture is of a boot, which is not a command that can be run again",
            "record a command of the board: foreread record --target TARGET -o CAPTURE -- COMMAND",
        )
    given = _given(capture)
    ending = Ending(
        _positive(given, "--duration"),
        _positive(given, "--until-idle"),
        given.get("--until-output"),
    )
    try:
        ending.check()
    except RecordError as error:
        raise _damaged(str(error)) from error
    return RunOptions(
        command=capture.command,
        ending=ending,
        cwd=Path(capture.cwd),
        user=given.get("--user"),
        streams=streams,
        keep_running="--keep-running" in capture.options,
        allow_warm="--allow-warm" in capture.options,
    )


def recorded_target(capture: Metadata) -> str:
    """Return the target that was recorded, as it was named then; raises CaptureError."""
    return _given(capture).get("--target", LOCAL)


def _given(capture: Metadata) -> dict[str, str]:
    """Return the values of the options that have one; anybody may have written them."""
    values, words = {}, iter(capture.options)
    for word in words:
        if word not in _VALUED:
            continue
        value = next(words, None)
        if value is None:
            raise _damaged(f"{word} has no value")
        values[word] = value
    return values


def _positive(given: Mapping[str, str], name: str) -> float | None:
    if name not in given:
        return None
    try:
        number = float(given[name])
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise _damaged(f"{name} {given[name]!r} is not a positive number")
    return number


def _damaged(why: str) -> CaptureError:
    return CaptureError(
        f"the capture's options cannot be parsed: {why}", "the capture is damaged: record again"
    )
