"""Advice for single files, on cases worked out by hand: 1,000 ns a request, 100 ns a KiB.

A page alone takes 1,400 ns. Ten of computing come before each access, and 30 at the end.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from advice_starts import faulting, reading, start_of
from programs import MapFlag, Op, Script

from foreread.analyzer.advise.access import (
    advises_descriptors,
    advises_mappings,
    is_executed,
    is_mapped,
    is_read,
    with_descriptors,
    with_mappings,
)
from foreread.analyzer.advise.access_offers import accesses
from foreread.analyzer.advise.document import TrialAdvice
from foreread.analyzer.advise.offer import trial_of
from foreread.analyzer.advise.variant import variant_of
from foreread.emulator.linux.rules import rules_for
from foreread.tracer.formats.capture import Segment

WINDOW = 8
PAGE_NS, TAIL_NS = 1400, 30


def ns(variant):
    return variant.cost().seconds * 1e9


def pages(variant):
    return variant.cost().read_bytes // 4096


def with_rules(variant, version):
    run = variant.run
    return variant_of(replace(variant.start, run=replace(run, rules=rules_for(version))), WINDOW)


def test_random_reads_single_pages_where_the_window_reads_more():
    """Page 0 begins a window, which RANDOM does not."""
    base = reading([0, 20, 40], window=WINDOW)
    advised = with_descriptors(base, 0, "random")
    assert pages(advised) == 3 < pages(base)
    assert ns(advised) == pytest.approx(3 * (PAGE_NS + 10) + TAIL_NS)


def test_sequential_doubles_the_window():
    """The longest request of a long sequential read has twice the pages."""

    def longest(variant):
        timed, _ = variant.timed()
        return int(timed.work[:, 1].max())

    base = reading([*range(64)], window=WINDOW)
    advised = with_descriptors(base, 0, "sequential")
    wide = base.with_window(2 * WINDOW)
    assert longest(advised) == longest(wide) > longest(base)
    assert ns(advised) == pytest.approx(ns(wide))


def test_the_program_s_own_advice_is_replaced():
    script = Script()
    handle = script.open(script.file(64))
    script.advise(Op.RANDOM, handle)
    for page in range(8):
        script.read(handle, page)
    rows = [{"operation": at, "cpu_ns": 10} for at in range(10)]
    base = variant_of(start_of(script, rows, [(0, page) for page in range(8)]), WINDOW)
    assert advises_descriptors(base, 0)
    assert not advises_descriptors(reading([0]), 0)
    normal = with_descriptors(base, 0, "normal")
    assert ns(normal) < ns(base)
    assert ns(with_descriptors(normal, 0, "random")) == pytest.approx(ns(base))


def test_each_open_is_advised_once_before_its_first_use():
    script = Script()
    file, other = script.file(64), script.file(64)
    handles = [script.open(file), script.open(other), script.open(file)]
    for page in (0, 1):
        for handle in handles:
            script.read(handle, page)
    rows = [{"operation": at} for at in range(len(script.operations))]
    base = variant_of(start_of(script, rows, [(0, 0), (1, 0)]), WINDOW)
    advised = with_descriptors(base, file, "random")
    program = advised.run.program
    done = program.operations[advised.run.steps["operation"]]
    given = np.flatnonzero(done["op"] == Op.RANDOM)
    assert done["handle"][given].tolist() == [handles[0], handles[2]]
    reads = done["handle"][given + 1].tolist()
    assert reads == [handles[0], handles[2]]
    assert set(done["op"][given + 1]) == {Op.READ}


def test_random_mappings_read_single_pages():
    base = faulting([40, 80], window=WINDOW)
    advised = with_mappings(base, 0, "random")
    assert pages(base) == 2 * WINDOW
    assert pages(advised) == 2
    assert ns(advised) == pytest.approx(2 * (PAGE_NS + 10) + TAIL_NS)


def test_random_descriptors_do_not_change_page_faults():
    base = faulting([40, 80], window=WINDOW)
    assert pages(with_descriptors(base, 0, "random")) == pages(base)


def test_sequential_descriptors_double_the_window_of_page_faults():
    base = faulting([40, 80], window=WINDOW)
    assert pages(with_descriptors(base, 0, "sequential")) == 2 * pages(base)


def test_sequential_mappings_read_forward():
    base = faulting([40, 41, 42, 43], window=4)
    advised = with_mappings(base, 0, "sequential")
    first, _ = advised.timed()
    assert pages(advised) == 4  # from 40 on; read around are 38 to 41, and what follows its marker
    assert pages(base) > 4
    assert first.work[:, 0].sum() == 1


def test_other_flags_of_a_mapping_stay():
    base = faulting([1], flags=int(MapFlag.SHARED | MapFlag.RANDOM))
    assert advises_mappings(base, 0)
    flags = with_mappings(base, 0, "sequential").run.program.mappings["flags"]
    assert flags.tolist() == [MapFlag.SHARED | MapFlag.SEQUENTIAL]
    assert with_mappings(base, 0, "normal").run.program.mappings["flags"].tolist() == [
        MapFlag.SHARED
    ]


def test_how_a_file_is_used():
    assert is_read(reading([0]), 0) and not is_mapped(reading([0]), 0)
    assert is_mapped(faulting([0]), 0) and not is_read(faulting([0]), 0)
    assert is_executed(faulting([0], flags=int(MapFlag.EXEC)), 0)
    assert not is_executed(faulting([0]), 0)


def situation(variant, path="/data/file", source=None, segments=()):
    recording = SimpleNamespace(paths=(path,), entries=(SimpleNamespace(segments=segments),))
    requests = np.array([9])
    return SimpleNamespace(
        present=(variant,), recording=recording, requests=requests, source=source
    )


def offered(variant, **more):
    return {offer.what.split(" ")[0]: offer for offer in accesses(situation(variant, **more))}


def test_offers_are_random_and_sequential_of_what_is_used():
    assert [*offered(reading([0, 9]))] == ["POSIX_FADV_RANDOM", "POSIX_FADV_SEQUENTIAL"]
    assert [*offered(faulting([0, 9]))] == ["MADV_RANDOM", "MADV_SEQUENTIAL"]
    assert not offered(faulting([0, 9], flags=int(MapFlag.EXEC)))
    code, data = Segment(0, 9, True, False), Segment(0, 9, False, True)
    assert not offered(faulting([0, 9]), segments=[data, code])
    assert offered(faulting([0, 9]), segments=[data])
    assert not offered(faulting([0, 9]), path="/etc/ld.so.cache")


def test_normal_is_for_programs_that_advise_themselves_and_needs_a_build():
    offers = offered(faulting([0, 9], flags=int(MapFlag.RANDOM)))
    assert [*offers] == ["MADV_NORMAL", "MADV_RANDOM", "MADV_SEQUENTIAL"]
    assert {offer.trial for offer in offers.values()} == {None}
    assert "the program advises this file itself" in offers["MADV_NORMAL"].risk


def test_a_trial_names_the_call_and_the_file():
    offers = offered(faulting([0, 9]))
    assert offers["MADV_RANDOM"].trial.advice == [TrialAdvice("madvise", "random", "/data/file")]
    both = trial_of([offers["MADV_RANDOM"], offered(reading([0]))["POSIX_FADV_SEQUENTIAL"]])
    assert [(each.call, each.advice) for each in both.advice] == [
        ("madvise", "random"),
        ("fadvise", "sequential"),
    ]


@pytest.mark.parametrize("path", ["/data/new\nline", "relative", "/nul\0", "/" + "x" * 4096])
def test_a_name_that_no_list_can_have_is_not_tried(path):
    offers = offered(faulting([0, 9]), path=path)
    assert {offer.trial for offer in offers.values()} == {None}
    assert "cannot name this file" in offers["MADV_RANDOM"].risk


def test_doubts_follow_the_kernel_s_rules():
    """POSIX_FADV_RANDOM is a flag from 2.6.37 on; before, it sets the window to 0."""
    old = with_rules(reading([0, 9]), (2, 6, 32))
    assert "before 2.6.37" in offered(old)["POSIX_FADV_RANDOM"].risk
    new = with_rules(reading([0, 9]), (7, 2))
    assert "before 2.6.37" not in offered(new)["POSIX_FADV_RANDOM"].risk
    assert "MADV_POPULATE_READ" in offered(faulting([0, 9]))["MADV_RANDOM"].risk


def test_the_source_gets_a_patch_or_says_why_not(tmp_path):
    source = tmp_path / "own.c"
    source.write_text("int f(void)\n{\n\tint fd = open(name, 0);\n\treturn fd;\n}\n")
    offer = offered(reading([0, 9]), source=source)["POSIX_FADV_RANDOM"]
    assert "+\t(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);" in [
        line for name in offer.lists if name.endswith(".patch") for line in _lines(offer, name)
    ]
    refused = offered(faulting([0, 9]), source=source)["MADV_RANDOM"]
    assert any("no patch: no call in own.c maps a file" in line for line in refused.how)


def _lines(offer, name):
    return offer.lists[name].decode().splitlines()
