"""Spaces for tests of the tuner: one as a board has it, and any that Hypothesis thinks of."""

from __future__ import annotations

from hypothesis import strategies as st

from foreread.analyzer.tuner.space.genes import NONE, Chromosome, Gene, Space

_QUEUE = "/sys/block/{disk}/queue"
WINDOW = Gene(
    name="window",
    kind="power2",
    lowest=4,
    highest=1024,
    default=128,
    knob=f"{_QUEUE}/read_ahead_kb",
)
SCHEDULER = Gene(
    name="scheduler",
    kind="categorical",
    choices=("none", "kyber", "bfq"),
    default="none",
    knob=f"{_QUEUE}/scheduler",
)
SLICE_IDLE = Gene(
    name="slice_idle",
    kind="integer",
    highest=8,
    default=8,
    requires={"scheduler": ("bfq",)},
    knob=f"{_QUEUE}/iosched/slice_idle",
)
RATIO = Gene(
    name="ratio", kind="integer", lowest=5, highest=40, default=20, knob="/proc/sys/vm/dirty_ratio"
)
BACKGROUND = Gene(
    name="background",
    kind="integer",
    lowest=1,
    highest=30,
    default=10,
    below="ratio",
    knob="/proc/sys/vm/dirty_background_ratio",
)
FLAG = Gene(name="flag", kind="boolean", default=0, knob="/proc/sys/vm/swappiness")
BOARD = Space((WINDOW, SCHEDULER, SLICE_IDLE, RATIO, BACKGROUND, FLAG))


@st.composite
def genes(draw: st.DrawFn, name: str, before: list[Gene]) -> Gene:
    """Draw a gene that may depend on one of those before it."""
    kind = draw(st.sampled_from(["categorical", "integer", "power2", "boolean", "bits"]))
    numbers = [gene for gene in before if gene.ordered]
    common: dict[str, object] = {"name": name, "kind": kind}
    if before and draw(st.booleans()):
        other = draw(st.sampled_from(before))
        allowed = draw(st.lists(st.sampled_from(other.alleles), min_size=1, max_size=3))
        common["requires"] = {other.name: tuple(allowed)}
    if kind in ("integer", "power2", "bits") and numbers and draw(st.booleans()):
        common["below"] = draw(st.sampled_from(numbers)).name
    if kind == "categorical":
        words = st.sampled_from(["a", "b", "c", "d"])
        choices = tuple(draw(st.lists(words, min_size=1, max_size=4, unique=True)))
        return Gene(**common, choices=choices, default=draw(st.sampled_from(choices)))
    if kind == "boolean":
        return Gene(**common, default=draw(st.integers(0, 1)))
    if kind == "power2":
        return Gene(**common, lowest=2, highest=draw(st.integers(2, 70)), default=2)
    lowest = draw(st.integers(-3, 5))
    highest = lowest + draw(st.integers(0, 9))
    return Gene(
        **common, lowest=lowest, highest=highest, default=draw(st.integers(lowest, highest))
    )


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Draw a space of one to five genes."""
    drawn: list[Gene] = []
    for number in range(draw(st.integers(1, 5))):
        drawn.append(draw(genes(f"g{number}", drawn)))
    return Space(tuple(drawn))


def chromosomes(space: Space) -> st.SearchStrategy[Chromosome]:
    """Draw chromosomes of any of the genes' alleles, mostly not valid."""
    return st.fixed_dictionaries(
        {gene.name: st.sampled_from([*gene.alleles, NONE]) for gene in space.genes}
    )
