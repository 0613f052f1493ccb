"""The genes that foreread knows (catalogue.toml), and the space of a board's genes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from foreread.analyzer.tuner.space.durability import Durability
from foreread.analyzer.tuner.space.genes import (
    Allele,
    Gene,
    GeneError,
    Kind,
    Knob,
    Name,
    Space,
    knob_paths,
)
from foreread.boards.knobs import KnobError, check_put_back, check_setting
from foreread.boards.remount import DIRECTORY

CATALOGUE = Path(__file__).parent / "catalogue.toml"
WINDOW = "read_ahead_kb"
POLICY = "{policy}"
LESS_DURABLE = "a power cut would lose more; to try it, add --allow durability"
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.=+-]{0,79}", re.ASCII)
_NUMBER = re.compile(r"\d{1,15}", re.ASCII)
_SELECTED = re.compile(r"\[(\S*)\]")


Mechanism = Literal["reclaim", "writes", "queue"]


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gene of the catalogue; the head of catalogue.toml explains the fields that Gene lacks."""

    name: Name
    kind: Kind
    source: str
    levels: tuple[int, ...] = ()
    around: int = 0
    least: int = 1
    at_most: Knob | None = None
    offered: Knob | None = None
    unset: str = ""
    knob: Knob | None = None
    per_disk: bool = False
    asked: bool = False
    acts_on: Mechanism | None = None
    durability: Durability | None = None
    requires: dict[Name, tuple[Allele, ...]] = {}
    unless: dict[Name, tuple[Allele, ...]] = {}
    below: str = ""
    unit: str = ""


class _Catalogue(msgspec.Struct, forbid_unknown_fields=True):
    gene: list[Entry]


@cache
def entries() -> tuple[Entry, ...]:
    """Return the catalogue, in the order of writing genes."""
    return tuple(msgspec.toml.decode(CATALOGUE.read_bytes(), type=_Catalogue).gene)


def _entry(name: str) -> Entry:
    return next(entry for entry in entries() if entry.name == name)


def usual_names() -> list[str]:
    """Return the genes that are tuned by default."""
    return [entry.name for entry in entries() if not entry.asked]


def knobs(disks: Sequence[str], names: Iterable[str] | None = None, mounted: str = "") -> list[str]:
    """Return the knobs that a probe has to read for the genes ``names`` (default: all).

    The knobs of the policies of CPUs are a pattern, which the probe expands. ``mounted``: the mount
    point of the file system with options as genes, if there is one.
    """
    chosen_names = None if names is None else set(names)
    templates = [
        knob
        for entry in entries()
        if chosen_names is None or entry.name in chosen_names
        for knob in (entry.knob, entry.at_most, entry.offered)
        if knob and (mounted or DIRECTORY not in knob)
    ]
    paths = [path for knob in templates for path in knob_paths(knob, disks)]
    named = (path.replace(DIRECTORY, mounted).replace(POLICY, "policy*") for path in paths)
    return list(dict.fromkeys(named))


def space_of(
    probe: Mapping[str, str],
    disks: Sequence[str],
    names: Sequence[str] | None = None,
    levels: Mapping[str, Sequence[Allele]] | None = None,
    windows: Sequence[str] = (),
    mounted: str = "",
    risked: Collection[str] = (),
) -> Space:
    """Return the genes of a board, with the present values as their defaults.

    ``probe``: the value of each knob of ``knobs``, without unreadable ones. ``names``: the
    requested genes, by default all; genes that the board lacks are in ``left_out``. ``levels``:
    alleles to use in place of the catalogue's, by gene; the present value is added. ``windows``:
    the read_ahead_kb files that govern the disks (btrfs has its own). ``mounted``: as in ``knobs``.
    ``risked``: genes that may have alleles with which a power cut loses more than with the present
    value; the others lack these alleles, as ``limited`` says. With several disks each has its own
    window, ``read_ahead_kb:NAME``. Raises GeneError for unknown names.
    """
    known_names = [entry.name for entry in entries()]
    for name in (*(names or ()), *(levels or {})):
        if name not in known_names:
            raise GeneError(f"no gene {name!r}", f"choose from: {', '.join(known_names)}")
    names = known_names if names is None else names
    genes: list[Gene] = []
    left_out: dict[str, str] = {}
    limited: dict[str, str] = {}
    for entry in map(_entry, sorted(names, key=known_names.index)):
        many = entry.per_disk and len(disks) > 1
        for disk in disks if many else [""]:
            board = _Board(probe, [disk] if disk else disks, names, windows, mounted)
            name = f"{entry.name}:{disk}" if disk else entry.name
            try:
                every = board.gene(entry, disk, (levels or {}).get(entry.name, ()))
                gene = every if entry.name in risked else _durable(entry, every)
            except _Lacking as why:
                left_out[name] = str(why)
                continue
            genes.append(gene)
            if gene != every:
                limited[name] = f"only up to {gene.alleles[-1]}: {LESS_DURABLE}"
    return Space(*_without_orphans(genes, left_out), limited)


def _durable(entry: Entry, gene: Gene) -> Gene:
    """Return a gene without the alleles that lose more than its default; raises _Lacking."""
    if (durability := entry.durability) is None:
        return gene
    kept = tuple(a for a in gene.alleles if not durability.loses_more(a, gene.default))
    if len(kept) < 2:
        raise _Lacking(LESS_DURABLE)
    return msgspec.structs.replace(gene, choices=kept)


class _Lacking(Exception):
    """The board lacks a gene, or the gene cannot be tuned there."""


class _Board:
    """The result of a probe of some disks."""

    def __init__(
        self,
        probe: Mapping[str, str],
        disks: Sequence[str],
        names: Sequence[str],
        windows: Sequence[str],
        mounted: str,
    ) -> None:
        self._probe, self._disks, self._names, self._windows = probe, disks, names, windows
        self._mounted = mounted

    def gene(self, entry: Entry, disk: str, levels: Sequence[Allele]) -> Gene:
        """Return the gene of a catalogue's entry; raises _Lacking."""
        choices, default = self._choices(entry)
        choices = [choice for choice in choices if self._may_set(entry, choice)]
        self._check_found(entry, default)
        if levels:
            choices = [
                level for level in levels if entry.levels or entry.around or level in choices
            ]
        if default not in choices:
            choices = [*choices, default]
        if len(set(choices)) < 2:
            raise _Lacking(f"{default} is the only choice")
        ordered = entry.kind not in ("categorical", "boolean")
        return Gene(
            name=f"{entry.name}:{disk}" if disk else entry.name,
            kind=entry.kind,
            default=default,
            choices=tuple(sorted(set(choices)) if ordered else dict.fromkeys(choices)),
            requires=self._requires(entry),
            below=entry.below,
            knob=self._paths(entry.knob)[0]
            if POLICY in (entry.knob or "")
            else self._here(entry.knob or ""),
            more_knobs=self._more(entry),
            disk=disk,
            unit=entry.unit,
        )

    def _may_set(self, entry: Entry, choice: Allele) -> bool:
        try:
            check_setting(self._paths(entry.knob)[0], str(choice))
        except KnobError:
            return False
        return True

    def _check_found(self, entry: Entry, default: Allele) -> None:
        """Raise _Lacking for a value that could not be restored."""
        try:
            check_put_back(self._paths(entry.knob)[0], str(default))
        except KnobError as error:
            raise _Lacking(str(error)) from error

    def _choices(self, entry: Entry) -> tuple[list[Allele], Allele]:
        """Return the alleles, and the present one."""
        text = self._text(self._paths(entry.knob)[0])
        if entry.offered:
            return self._listed(entry, text)
        if entry.kind == "categorical":
            return _offered(text)
        if text == entry.unset:
            raise _Lacking("another setting replaces it")
        value = _number(text)
        if entry.kind == "boolean":
            return [0, 1], value
        most = _number(self._text(self._paths(entry.at_most)[0])) if entry.at_most else None
        powers = range(entry.around.bit_length())
        around = [value << n for n in powers] + [value >> n for n in powers] if entry.around else []
        values = entry.levels or [level for level in around if level >= entry.least]
        return [level for level in values if most is None or level <= most], value

    def _listed(self, entry: Entry, value: str) -> tuple[list[Allele], Allele]:
        """Return the words that files list for all knobs of the gene, and the present one."""
        if any(self._text(path) != value for path in self._paths(entry.knob)):
            raise _Lacking("its value is not the same for all CPUs")
        lists = [self._text(path).split() for path in self._paths(entry.offered)]
        words = [*filter(_WORD.fullmatch, lists[0])]
        return [word for word in words if all(word in offered for offered in lists)], value

    def _requires(self, entry: Entry) -> dict[str, tuple[Allele, ...]]:
        """Return the gene's requirements of other genes, without met ones of fixed genes."""
        required = {
            name: allowed
            for name, allowed in entry.requires.items()
            if name in self._names or self._choices(_entry(name))[1] not in allowed
        }
        for name, excluded in entry.unless.items():
            allowed_alleles = [
                allele for allele in self._choices(_entry(name))[0] if allele not in excluded
            ]
            if name in self._names and allowed_alleles:
                required[name] = tuple(allowed_alleles)
        return required

    def _here(self, knob: str) -> str:
        if DIRECTORY in knob and not self._mounted:
            raise _Lacking("no file system of its disks can be remounted")
        return knob.replace(DIRECTORY, self._mounted)

    def _paths(self, knob: str | None) -> list[str]:
        paths = knob_paths(self._here(knob or ""), self._disks)
        if POLICY in (knob or ""):
            return self._of_policies(knob or "")
        if not paths:
            raise _Lacking("there is no disk to tune")
        return paths

    def _of_policies(self, knob: str) -> list[str]:
        """Return a knob of each policy of CPUs that the board has."""
        file = re.compile(re.escape(knob).replace(re.escape(POLICY), r"policy(\d{1,3})"), re.ASCII)
        paths_by_number = [
            (int(match[1]), path) for path in self._probe if (match := file.fullmatch(path))
        ]
        if not paths_by_number:
            raise _Lacking(f"the board has no {knob.replace(POLICY, 'policy0')} that can be read")
        return [path for _, path in sorted(paths_by_number)]

    def _text(self, path: str) -> str:
        text = self._probe.get(path)
        if text is None:
            raise _Lacking(f"the board has no {path} that can be read")
        return text.strip()

    def _more(self, entry: Entry) -> tuple[str, ...]:
        if POLICY in (entry.knob or ""):
            return tuple(self._paths(entry.knob)[1:])
        if entry.name != WINDOW:
            return ()
        return tuple(path for path in self._windows if path not in self._paths(entry.knob))


def _offered(text: str) -> tuple[list[Allele], Allele]:
    """Return the words of a knob like ``none [mq-deadline] kyber``, and the selected one."""
    selected = _SELECTED.search(text)
    words = [*filter(_WORD.fullmatch, text.replace("[", " ").replace("]", " ").split())]
    if not selected or selected[1] not in words:
        raise _Lacking(f"its value is {text[:80]!r}, with nothing selected")
    return [*words], selected[1]


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise _Lacking(f"its value is {text[:80]!r}, which is not a number")
    return int(text)


def _without_orphans(
    genes: Sequence[Gene], left_out: Mapping[str, str]
) -> tuple[tuple[Gene, ...], dict[str, str]]:
    """Leave out tunables of schedulers not chosen here; drop limits by genes that are not tuned."""
    kept: dict[str, Gene] = {}
    missing = dict(left_out)
    for gene in genes:
        lacks = [name for name in gene.requires if name not in kept]
        offered = all(
            set(allowed) & set(kept[name].alleles)
            for name, allowed in gene.requires.items()
            if name in kept
        )
        if lacks or not offered:
            schedulers = ", ".join(
                allele for some in gene.requires.values() for allele in map(str, some)
            )
            missing[gene.name] = f"it is a tunable of {schedulers}, which is not one of the choices"
            continue
        below = gene.below if gene.below in kept else ""
        kept[gene.name] = msgspec.structs.replace(gene, below=below)
    return tuple(kept.values()), missing
