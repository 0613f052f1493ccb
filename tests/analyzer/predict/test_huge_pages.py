"""Large folios need transparent huge pages: the recorded kernel has them, or has not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from capture_builder import capture_of, host_of, recording_of

from foreread.analyzer.predict.inputs import large_folios_by_dev, may_have_huge_pages
from foreread.tracer.formats.capture import NO_METADATA

DISK = 7 << 20
HUGE = "CONFIG_TRANSPARENT_HUGEPAGE"


def capture(**host):
    return capture_of(host=host_of(**host))


@pytest.mark.parametrize(
    ("host", "large"),
    [
        ({}, True),  # recorded by foreread 0.1: nothing shows that it has none
        ({"kernel_options": {HUGE: "y"}}, True),
        ({"kernel_options": {HUGE: "n"}}, False),
        ({"kernel_options": {"CONFIG_SQUASHFS_XZ": "y"}}, True),
        ({"kernel_options": {HUGE: "y"}, "long_size": 4}, False),
    ],
)
def test_files_are_in_large_folios_where_the_kernel_may_have_huge_pages(host, large):
    recording = replace(recording_of([(0, 0)], [1]), capture=capture(**host))
    assert large_folios_by_dev(recording, (6, 17)) == {DISK: large}
    assert large_folios_by_dev(recording, (6, 12)) == {DISK: False}


def test_without_a_capture_nothing_is_known_to_be_lacking():
    assert may_have_huge_pages(NO_METADATA)
