"""File systems as chromosomes: Storage v1 and v2 of Zadok et al. (HotStorage 2015, table 1).

Any combination of alleles may be asked, and most make no file system: those have no fitness
("we give them a zero fitness value", section 3), and the default of every file system is seeded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product

from foreread.analyzer.tuner.space.genes import NONE, Allele, Chromosome, Gene, Space
from studies.tuning.storage_rules import FILE_SYSTEMS, RuleSet

V1 = (
    "file_system",
    "block_size",
    "inode_size",
    "blocks_per_group",
    "mount",
    "journal",
    "special",
)
SCHEDULER, DISK_TYPE = "scheduler", "disk_type"
_EXT = ("ext2", "ext3", "ext4")
# What mkfs makes of a disk like the paper's by default.
_DEFAULTS: Mapping[str, tuple[Allele, Allele, Allele, str]] = {
    "ext2": (4096, 256, 32768, NONE),
    "ext3": (4096, 256, 32768, "ordered"),
    "ext4": (4096, 256, 32768, "ordered"),
    "xfs": (4096, 512, NONE, NONE),
    "nilfs2": (4096, NONE, 2048, "relaxed"),
    "btrfs": (16384, NONE, NONE, NONE),
    "reiserfs": (4096, NONE, NONE, "ordered"),
}
# The same of a disk of 73 GB where the paper's rules have no such allele: inodes of 256 bytes and
# four groups, rounded to a power of two, for XFS; for ReiserFS blocks are not a gene.
_PUBLISHED_DEFAULTS: Mapping[str, tuple[Allele, Allele, Allele, str]] = {
    "xfs": (4096, 256, (16 << 30) // 4096, NONE),
    "reiserfs": (NONE, NONE, NONE, "ordered"),
}


def storage_space(
    rules: RuleSet, schedulers: Sequence[str] = (), disk_types: Sequence[str] = ()
) -> Space:
    """Return the genes with every allele that some file system of ``rules`` can have.

    That is Storage v1; with schedulers or types of disks, the first of which is the default, it
    is Storage v2. Which combinations are file systems, ``is_valid`` says.
    """
    alleles: dict[str, list[Allele]] = {name: [] for name in V1}
    for file_system, system_rules in rules.items():
        alleles["file_system"].append(file_system)
        alleles["block_size"].extend(system_rules.geometries)
        for geometry in system_rules.geometries.values():
            alleles["inode_size"].extend(geometry.inode_sizes)
            alleles["blocks_per_group"].extend(geometry.blocks_per_group)
        alleles["mount"].extend(system_rules.mounts)
        alleles["journal"].extend(system_rules.journals)
        alleles["special"].extend(system_rules.specials)
    first = defaults(rules)[0]
    genes = [_gene(name, _in_order(alleles[name]), first[name]) for name in V1]
    more = {SCHEDULER: schedulers, DISK_TYPE: disk_types}
    genes += [_gene(name, choices, choices[0]) for name, choices in more.items() if choices]
    return Space(tuple(genes))


def defaults(rules: RuleSet, more: Chromosome | None = None) -> list[dict[str, Allele]]:
    """Return each file system as mkfs makes it by default, ext4 first; ``more`` are v2's genes."""
    chromosomes = []
    for file_system in sorted(rules, key=lambda name: (name != "ext4", FILE_SYSTEMS.index(name))):
        sources = [of[file_system] for of in (_DEFAULTS, _PUBLISHED_DEFAULTS) if file_system in of]
        candidates = [_default(file_system, *values) for values in sources]
        allowed = next(
            (candidate for candidate in candidates if rules[file_system].allow(candidate)),
            candidates[0],
        )
        chromosomes.append({**allowed, **(more or {})})
    return chromosomes


def _default(
    file_system: str, block: Allele, inode: Allele, group: Allele, journal: str
) -> dict[str, Allele]:
    values = (file_system, block, inode, group, "relatime", journal, NONE)
    return dict(zip(V1, values, strict=True))


def is_valid(chromosome: Chromosome, rules: RuleSet) -> bool:
    """Return whether a chromosome is a file system that can be made and mounted."""
    system_rules = rules.get(str(chromosome["file_system"]))
    return system_rules is not None and system_rules.allow(chromosome)


def configurations(rules: RuleSet) -> Iterator[dict[str, Allele]]:
    """Yield every valid chromosome of Storage v1."""
    for file_system, system_rules in rules.items():
        for block, geometry in system_rules.geometries.items():
            rest = (geometry.inode_sizes, geometry.blocks_per_group)
            options = (system_rules.mounts, system_rules.journals, system_rules.specials)
            for values in product(*rest, *options):
                yield dict(zip(V1, (file_system, block, *values), strict=True))


def connectivity(chromosomes: Iterable[Chromosome]) -> Counter[tuple[str, str]]:
    """Count the edges of the paper's figure 1: pairs that differ in exactly one gene.

    By pair of file systems, in the order of FILE_SYSTEMS.
    """
    edges: Counter[tuple[str, str]] = Counter()
    groups: dict[tuple[Allele, ...], list[str]] = {}
    for chromosome in chromosomes:
        for changed in chromosome:
            rest = (value if name != changed else "" for name, value in chromosome.items())
            key = (changed, *rest)
            groups.setdefault(key, []).append(str(chromosome["file_system"]))
    for reachable in groups.values():
        for pair in combinations(reachable, 2):
            first, other = sorted(pair, key=FILE_SYSTEMS.index)
            edges[first, other] += 1
    return edges


def make_words(chromosome: Chromosome) -> tuple[str, ...]:
    """Return the options for mkfs, without the device; the chromosome is valid."""
    file_system = str(chromosome["file_system"])
    block, inode, group = (chromosome[name] for name in V1[1:4])
    if file_system in _EXT:
        # Fixed, since mke2fs.conf has other inode ratios for small devices, whose tables of
        # large inodes would fill them. No thread shall complete the tables while it is measured.
        ratio = ("-i", "16384", "-E", "lazy_itable_init=0,lazy_journal_init=0")
        journal = (
            ("-O", "^has_journal")
            if file_system == "ext4" and chromosome["journal"] == NONE
            else ()
        )
        return ("-b", f"{block}", "-I", f"{inode}", "-g", f"{group}", *ratio, *journal)
    if file_system == "xfs":
        groups = () if group == NONE else ("-d", f"agsize={group}b")
        return ("-b", f"size={block}", "-i", f"size={inode}", *groups)
    if file_system == "nilfs2":
        return ("-b", f"{block}", "-B", f"{group}")
    return ("-n" if file_system == "btrfs" else "-b", f"{block}")


def mount_words(chromosome: Chromosome) -> tuple[str, ...]:
    """Return the options of mount; the chromosome is valid."""
    journal = {"nilfs2": "order"}.get(str(chromosome["file_system"]), "data")
    words = [str(chromosome["mount"])]
    if chromosome["journal"] != NONE:
        words.append(f"{journal}={chromosome['journal']}")
    if chromosome["special"] != NONE:
        words.append(str(chromosome["special"]))
    return tuple(words)


def _gene(name: str, choices: Sequence[Allele], default: Allele) -> Gene:
    return Gene(name=name, kind="categorical", choices=tuple(choices), default=default)


def _in_order(alleles: Iterable[Allele]) -> list[Allele]:
    """Return each allele once: words as they come, then numbers rising."""
    numbers = lambda allele: allele if isinstance(allele, int) else 0  # noqa: E731
    return sorted(dict.fromkeys(alleles), key=numbers)
