"""Fuzz the readers of images: mutated golden images, read with all contents.

    python fuzz/fuzz_images.py SECONDS [SEED]

Anything but tables or an ImageError with a remedy, and any input that takes 20 s, is a finding; the
input is in ``fuzz-out/images/input``.
"""

from __future__ import annotations

import random
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from foreread.emulator.images.erofs import read_erofs  # noqa: E402
from foreread.emulator.images.erofs_format import COMPRESSED  # noqa: E402
from foreread.emulator.images.erofs_lookups import ErofsLookups  # noqa: E402
from foreread.emulator.images.erofs_reads import ErofsReader  # noqa: E402
from foreread.emulator.images.erofs_rules import ErofsRules  # noqa: E402
from foreread.emulator.images.ext4 import read_ext4  # noqa: E402
from foreread.emulator.images.source import ImageError  # noqa: E402
from foreread.emulator.images.squashfs import read_squashfs  # noqa: E402
from foreread.emulator.images.squashfs_contents import Contents  # noqa: E402

GOLDEN = ROOT / "tests/emulator/images/data"
INPUT = ROOT / "fuzz-out/images/input"
EDGES = (0, 1, 0x7F, 0x80, 0xFF)
MOST_BLOCKS = 200  # of one file: what a damaged size may ask for takes time only


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return an image with some bytes or words changed, mostly where its structures are."""
    image = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        begin = 0 if image[:4] == b"hsqs" else 1024
        some = chance.choice((96, 128, 3000, len(image) - begin))
        at = begin + chance.randrange(min(some, len(image) - begin))
        width = chance.choice((1, 2, 4, 8))
        match chance.randrange(4):
            case 0:
                image[at] ^= 1 << chance.randrange(8)
            case 1:
                image[at : at + width] = bytes([chance.choice(EDGES)]) * width
            case 2:
                image[at : at + width] = chance.randrange(1 << 16).to_bytes(8, "little")[:width]
            case 3:
                from_ = chance.randrange(len(image))
                image[at : at + width] = image[from_ : from_ + width]
    return bytes(image)


def read_whole_erofs(octets: bytes) -> None:
    """Read an image of EROFS, look up its names, and read pages of its compressed files."""
    image = read_erofs(octets)
    reader = ErofsReader(image, ErofsRules())
    lookups = ErofsLookups(reader)
    for name in list(image.names)[:MOST_BLOCKS]:
        lookups.look_up(name)
    for row, file in enumerate(image.files):
        pages = -(-int(file["size"]) // 4096)
        if file["layout"] in COMPRESSED and pages:
            for page in range(0, min(pages, MOST_BLOCKS), 7):
                reader.read_page(row, page, lambda _: False)
                reader.readahead(row, page, page + 1, lambda _: False, lambda _: False)


def read(octets: bytes) -> None:
    """Read everything there is in an image."""
    if octets[1080:1082] == b"\x53\xef":
        read_ext4(octets)
        return
    if octets[:4] != b"hsqs":
        read_whole_erofs(octets)
        return
    image = read_squashfs(octets)
    contents = Contents(image, octets)
    for file in range(len(image.files)):
        blocks = -(-int(image.files["size"][file]) // image.block_size)
        for number in range(min(blocks, MOST_BLOCKS)):
            contents.block(file, number)


def main() -> None:
    """Mutate and read until the time is up."""
    end = time.monotonic() + float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    chance = random.Random(seed)
    images = [path.read_bytes() for path in sorted(GOLDEN.iterdir()) if path.suffix != ".md"]
    INPUT.parent.mkdir(parents=True, exist_ok=True)
    counts = {True: 0, False: 0}
    while time.monotonic() < end:
        octets = mutated(chance.choice(images), chance)
        INPUT.write_bytes(octets)
        signal.alarm(20)
        try:
            read(octets)
            counts[True] += 1
        except ImageError as error:
            assert error.remedy
            counts[False] += 1
    signal.alarm(0)
    print(f"{counts[True]} read, {counts[False]} refused, no finding (seed {seed})")


if __name__ == "__main__":
    main()
