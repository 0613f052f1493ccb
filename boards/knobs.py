"""The knobs that foreread writes, and their values (knobs.toml): everything else is refused.

Every writer checks here before it writes, also if the knob and its value come from a file of
another origin: a TUNING, a capture, a plan, a journal.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources

import msgspec

from foreread.boards.error import BoardsError

BLOCK = "/sys/block/"
READ_AHEAD = "queue/read_ahead_kb"  # below the directory of a disk
LARGEST = (1 << 31) - 1  # a busybox test may have 32 bits
_MOUNT = "mount:"
_TUNABLE = "{tunable}"
_NAMES = {
    # '!' is a '/' in the kernel's name; "254:6" is a number in a trace
    "{disk}": r"(?![0-9][^/]*:)[A-Za-z0-9_][A-Za-z0-9_!.+:-]{0,63}",
    "{bdi}": r"[A-Za-z0-9_][A-Za-z0-9_!.+:-]{0,63}",
    _TUNABLE: r"[a-z0-9_]+",
    "{policy}": r"policy(?:0|[1-9][0-9]{0,2})",
    "{mount}": r"(?!(?:.*/)?\.\.(?:/|\Z))/[A-Za-z0-9_./+-]{0,99}",
}
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,14}")
_AGAIN = "remove the file that has it (TUNING, capture, journal or plan), and make it again"

Range = tuple[int, int]


class KnobError(BoardsError, ValueError):
    """A knob or a value that foreread does not write; ``remedy`` says what to do."""


class Knob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of knobs.toml; the head of the file explains the fields."""

    path: str
    source: str
    set: Range | None = None
    found: Range | None = None
    word: bool = False
    memory_share: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError for an entry without values, or with values that cannot be put back."""
        if self.word or self.choices:
            return
        ranges = [pair for pair in (self.set, self.found) if pair is not None]
        least, most = self.range(put_back=True)
        if not ranges or any(not least <= a <= b <= most <= LARGEST for a, b in ranges):
            raise ValueError(f"{self.path}: its ranges do not go together")

    @property
    def choices(self) -> list[str]:
        """The words of a mount option; none for other knobs."""
        words = self.path.removeprefix(_MOUNT).partition(":")[0]
        return words.split(",") if self.path.startswith(_MOUNT) and "=" not in words else []

    def range(self, put_back: bool) -> Range:
        """Return the numbers that may be put back, or set; (1, 0) if there are none."""
        pair = self.found or self.set if put_back else self.set
        return pair or (1, 0)

    def refusal(self, value: str, put_back: bool, memory_kib: int | None) -> str:
        """Return why the knob does not accept that value, empty if it does."""
        if self.word:
            return (
                ""
                if _WORD.fullmatch(value)
                else "not a word of at most 15 letters, digits, - and _"
            )
        if self.choices:
            return "" if value in self.choices else f"not one of {', '.join(self.choices)}"
        least, most = self.range(put_back)
        if not _NUMBER.fullmatch(value) or not least <= int(value) <= most:
            return f"not a whole number from {least} to {most}"
        if self.memory_share and memory_kib is not None:
            limit = memory_kib // self.memory_share
            if int(value) > limit:
                return f"not within 1/{self.memory_share} of the memory ({limit} KiB)"
        return ""


class _List(msgspec.Struct, forbid_unknown_fields=True):
    knob: list[Knob]


@cache
def knobs() -> tuple[Knob, ...]:
    """Return the list, in the file's order."""
    text = (resources.files("foreread.boards") / "knobs.toml").read_bytes()
    return tuple(msgspec.toml.decode(text, type=_List).knob)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Knob], ...]:
    return tuple((_pattern(knob.path), knob) for knob in knobs())


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\{\w+\})", path)
    return re.compile(
        "".join(_NAMES[part] if part in _NAMES else re.escape(part) for part in parts)
    )


def knob_of(path: str) -> Knob:
    """Return the entry of a knob; raises KnobError if there is none."""
    for pattern, knob in _patterns():
        if pattern.fullmatch(path):
            return knob
    raise KnobError(f"{path!r} is not a knob that foreread sets", _AGAIN)


def is_disk_name(name: str) -> bool:
    """Return whether a disk of /sys/block can have this name."""
    return re.fullmatch(_NAMES["{disk}"], name) is not None


def check_setting(path: str, value: str, memory_kib: int | None = None) -> None:
    """Raise KnobError unless a plan may give the knob this value.

    ``memory_kib``: the memory of the machine; None if it is unknown, for instance for a board,
    where the shell checks again.
    """
    knob = knob_of(path)
    if knob.set is None and not (knob.word or knob.choices):
        raise KnobError(f"{path!r} is put back only, never set", _AGAIN)
    _check(path, knob.refusal(value, False, memory_kib), value)


def check_put_back(path: str, value: str, memory_kib: int | None = None) -> None:
    """Raise KnobError unless the knob's value may be restored to this one; as check_setting."""
    _check(path, knob_of(path).refusal(value, True, memory_kib), value)


def _check(path: str, refusal: str, value: str) -> None:
    if refusal:
        raise KnobError(
            f"{path}: {value[:80]!r} is {refusal}", f"choose another value, or {_AGAIN}"
        )


def shell_functions() -> str:
    """Return ``is_knob``, ``may_set`` and ``may_put_back`` for a POSIX shell."""
    text = (resources.files("foreread.boards") / "knobs.sh").read_text()
    lines = ["# knob_range PLACE: set the ranges of a knob; made from boards/knobs.toml."]
    lines += [
        "knob_range() {",
        "    case $1 in",
        *_shell_cases(),
        "    *) return 1 ;;",
        "    esac",
        "}",
    ]
    return "\n".join([*lines, "", text.rstrip()])


def _shell_cases() -> Iterator[str]:
    """Yield the cases. Files of one folder share a pattern: a slow board compares fewer strings."""
    folders: defaultdict[str, list[Knob]] = defaultdict(list)
    for knob in knobs():
        folders[posixpath.dirname(knob.path) or knob.path].append(knob)
    alone = [some[0] for some in folders.values() if len(some) == 1]
    for folder in sorted(folders, key=len, reverse=True):  # one folder may be in another
        if len(folders[folder]) > 1:
            yield f"    '{folder}/'*)"
            yield f"        case ${{1#*/{posixpath.basename(folder)}/}} in"
            yield from _cases(folders[folder], f"{folder}/")
            yield "        esac"
            yield "        ;;"
    for knob in alone:
        yield f"    '{knob.path}') {_shell_ranges(knob)} ;;"


def _cases(some: Sequence[Knob], folder: str) -> Iterator[str]:
    """Yield a case for each range; the pattern for any name comes last."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    default_case = "return 1"
    for knob in some:
        name, ranges = knob.path.removeprefix(folder), _shell_ranges(knob)
        if name == _TUNABLE:
            yield "        '' | *[!a-z0-9_]*) return 1 ;;"
            default_case = ranges
        else:
            names[ranges].append(name)
    for ranges, same in names.items():
        yield f"        {' | '.join(same)}) {ranges} ;;"
    yield f"        *) {default_case} ;;"


def _shell_ranges(knob: Knob) -> str:
    if knob.word or knob.choices:
        kind = "word" if knob.word else "one"
        return f"knob_set={kind} knob_found={kind}"
    pairs = {"set": knob.set, "found": knob.range(put_back=True)}
    ranges = [f"knob_{name}={pair[0]}-{pair[1]}" for name, pair in pairs.items() if pair]
    share = [f"knob_share={knob.memory_share}"] if knob.memory_share else []
    return " ".join([*ranges, *share])
