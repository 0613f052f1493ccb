"""The command to type if seconds cannot be predicted."""

from __future__ import annotations

import re
import shlex

from msgspec import UnsetType

from foreread.analyzer.ingest.recording import Recording
from foreread.tracer.formats.capture import Metadata, dev_text

COMMAND = "COMMAND"  # stands for a command that the file does not name
CAPTURE = "CAPTURE"
IMAGE = "IMAGE"
_WINDOW, _MEMORY = "--read-ahead-kb", "--memory"


def calibrate(recording: Recording, disk: int | None) -> str:
    """Return the command that measures the cost of a disk (dev_t), and predicts with it.

    The cost of an emulated board's disk is in the profile of the board that was the target.
    """
    target = target_words(recording.capture)
    if target and _profile_has_cost(target[1]):
        return shlex.join(["foreread", "predict", _path(recording), "--device-model", target[1]])
    name = _disk_name(recording.capture, disk)
    model = f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.toml"
    device = f"/dev/{name.replace('!', '/')}"  # '!' is a '/' in the kernel's name
    measure = ["foreread", "calibrate", *target, "-o", model, device]
    predict = ["foreread", "predict", _path(recording), "--device-model", model]
    return f"{shlex.join(measure)} && {shlex.join(predict)}"


def record_again(recording: Recording) -> str:
    """Return the command that records the start again, at read_ahead_kb=0."""
    options, command = _run(recording.capture)
    return shlex.join(["foreread", "record", *options, "-o", "again.capture", *command])


def record_with(recording: Recording, memory: str) -> str | None:
    """Return the command that records the start in so much memory; None for a boot."""
    if recording.capture.command is None or recording.capture.boot is not None:
        return None
    options, command = _run(recording.capture, _MEMORY)
    words = [*options, _MEMORY, memory, "-o", "tight.capture", *command]
    return shlex.join(["foreread", "record", *words])


def sweep(recording: Recording) -> str:
    """Return the command that measures the start at every window; a boot is recorded again."""
    if recording.capture.boot is not None:
        return record_again(recording)
    options, command = _run(recording.capture)
    return shlex.join(["foreread", "sweep", *options, "-o", "sweep.json", *command])


def prefetch(recording: Recording) -> str:
    """Return the command that writes the list of the start's reads."""
    return shlex.join(["foreread", "prefetch", _path(recording), "-o", "start.list"])


def with_image(recording: Recording) -> str:
    """Return the command that predicts a start from compressed EROFS, with its image."""
    return shlex.join(["foreread", "predict", _path(recording), "--image", IMAGE])


def with_seconds(recording: Recording) -> str:
    """Return the command that predicts seconds from a capture with all needed data."""
    return shlex.join(["foreread", "predict", _path(recording)])


def for_forecast(command: str, recording: Recording, option: str, value: str) -> str:
    """Return a command of this module that forecasts, with an option, where it would predict."""
    forecast = shlex.join(["foreread", "forecast", _path(recording), option, value])
    return command.replace(with_seconds(recording), forecast)


def _profile_has_cost(name: str) -> bool:
    """Return whether a board that comes with foreread has one disk of known cost."""
    # Few captures are of an emulated board.
    from foreread.boards.profile import builtin_names, load_profile  # noqa: PLC0415

    if name not in builtin_names():
        return False
    known = [disk for disk in load_profile(name).storage if not isinstance(disk.cost, UnsetType)]
    return len(known) == 1


def _path(recording: Recording) -> str:
    return CAPTURE if recording.path is None else recording.path


def _disk_name(capture: Metadata, disk: int | None) -> str:
    text = None if disk is None else dev_text(disk)
    return next((device.name for device in capture.devices if device.dev == text), "DISK")


def _run(capture: Metadata, *without: str) -> tuple[list[str], list[str]]:
    """Return options and command that repeat a recorded run, without the window it was made at.

    ``without`` are further options to leave out, each with its value. The command begins with
    "--"; a boot has none.
    """
    if capture.command is None:
        return [], ["--", COMMAND]
    options = list(capture.options)
    for option in (_WINDOW, *without):
        if option in options:
            at = options.index(option)
            del options[at : at + 2]
    return options, ["--", *capture.command] if capture.boot is None else []


def target_words(capture: Metadata) -> list[str]:
    """Return the options that name the recorded target and its key; none on this machine."""
    options = capture.options
    if "--target" not in options[:-1]:
        return []
    names = [name for name in ("--target", "--identity") if name in options[:-1]]
    pairs = [(name, options[options.index(name) + 1]) for name in names]
    return [word for pair in pairs for word in pair]
