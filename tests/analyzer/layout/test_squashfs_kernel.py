"""The unit of squashfs's reads and its cache of fragments: from the capture, or in doubt."""

from dataclasses import replace

import pytest
from capture_builder import capture_of, device_of, host_of, recording_of, table_of

from foreread.analyzer.ingest.tables import REQUESTS, Rwbs
from foreread.analyzer.layout.squashfs_kernel import kernel_of_image
from foreread.tracer.formats.capture import Mount, Squashfs

DISK = 7 << 20
LARGE = "CONFIG_SQUASHFS_4K_DEVBLK_SIZE"
FRAGMENTS = "CONFIG_SQUASHFS_FRAGMENT_CACHE_SIZE"


def found(unit=None, reads=(), config=None, first_sector=0, logical="", **options):
    """Return the kernel of a start on squashfs; ``reads`` are sectors and lengths of requests."""
    image = None if unit is None else Squashfs(device_block_bytes=unit)
    mount = Mount(
        dev="7:0",
        mountpoint="/",
        fstype="squashfs",
        source="",
        options="",
        first_sector=first_sector,
        squashfs=image,
    )
    disk = device_of(queue={"logical_block_size": logical})
    host = host_of(kernel_options=options)
    requests = table_of(
        REQUESTS,
        len(reads),
        dev=DISK,
        sector=[sector for sector, _ in reads],
        sectors=[sectors for _, sectors in reads],
        flags=int(Rwbs.READ),
    )
    recording = replace(
        recording_of([(0, 0)], [1]),
        capture=capture_of(mounts=[mount], host=host, devices=[disk]),
        requests=requests,
    )
    return kernel_of_image(recording, (6, 12), mount, DISK, config)


ALIGNED = [(8 * number, 16) for number in range(8)]


@pytest.mark.parametrize("unit", [1024, 4096])
def test_the_unit_is_what_stat_showed(unit):
    kernel = found(unit, ALIGNED, **{LARGE: "n", FRAGMENTS: "3"})
    assert kernel.rules.device_block == unit
    assert kernel.doubts == ()


@pytest.mark.parametrize(
    ("options", "config", "unit"),
    [
        ({LARGE: "y"}, None, 4096),
        ({LARGE: "n"}, frozenset({LARGE}), 1024),
        ({}, frozenset({LARGE}), 4096),
        ({}, frozenset({"CONFIG_SQUASHFS"}), 1024),
    ],
)
def test_without_stat_the_configuration_says_the_unit(options, config, unit):
    assert found(None, [], config, **options).rules.device_block == unit
    assert found(12345, [], config, **options).rules.device_block == unit


def test_without_the_configuration_the_recorded_reads_show_the_unit():
    assert found(None, ALIGNED).rules.device_block == 4096
    assert found(None, [*ALIGNED, (66, 8)]).rules.device_block == 1024
    assert found(None, [*ALIGNED, (64, 6)]).rules.device_block == 1024
    shifted = [(sector + 2051, sectors) for sector, sectors in ALIGNED]
    assert found(None, shifted, first_sector=2051).rules.device_block == 4096


def test_a_disk_with_larger_logical_blocks_has_those_as_units():
    assert found(None, [], logical="4096", **{LARGE: "n"}).rules.device_block == 4096
    assert found(None, [], logical="512", **{LARGE: "n"}).rules.device_block == 1024
    assert found(None, [], logical="999999", **{LARGE: "n"}).rules.device_block == 1024


def test_what_nothing_shows_is_a_doubt():
    few = found(None, ALIGNED[:7])
    assert few.rules.device_block == 1024
    assert [LARGE in doubt for doubt in few.doubts] == [True, False]
    assert [FRAGMENTS in doubt for doubt in few.doubts] == [False, True]
    assert "--kernel-config FILE" in few.doubts[0]


@pytest.mark.parametrize(
    ("text", "kept", "doubts"), [("7", 7, 0), ("0", 3, 1), ("many", 3, 1), ("99999999", 3, 1)]
)
def test_fragments_are_those_of_the_configuration(text, kept, doubts):
    kernel = found(1024, [], **{FRAGMENTS: text})
    assert kernel.rules.fragments_kept == kept
    assert len(kernel.doubts) == doubts
