"""Whole boots of a distribution's image on an emulated board.

    python -m studies.distribution.boots IMAGE -o FILE [--repeat N] [--case NAME]

Each boot is of a board of its own, from the place of the hook of `foreread record --boot` to
multi-user.target, in guest time. Idle time passes at once, so that a boot does not depend on the
load of this machine. FILE gets seconds, requests and bytes of all boots.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from foreread.boards.base.document import SCHEMA
from foreread.boards.emulated import launch, state
from foreread.boards.emulated.live import LiveOptions
from studies.distribution.image import MEASURED, SAID

Document = dict[str, Any]
SECTOR = 512
PATIENCE_S = 900.0
OPTIONS = LiveOptions(
    board="x86_64",
    kernel="6.12",
    init="systemd",
    fs="overlay-squashfs",
    memory_mib=1400,
    append="net.ifnames=0",
    time_out_s=PATIENCE_S,
)
_LINE = re.compile(rf"{SAID} ((?:\d+ ){{6}}\d+)\b")  # after a prompt of login


class BootError(RuntimeError):
    """A board did not reach the end of its boot."""


def boot_of(console: str) -> Document:
    """Return seconds, requests and bytes of the boot from its marks on a console.

    Raises BootError for a console without them.
    """
    match = _LINE.search(console)
    if match is None:
        last = " | ".join(console.strip().splitlines()[-5:])
        raise BootError(f"the board did not print the marks of its boot; its last output: {last}")
    begin, first, low, end, last_one, high, window = map(int, match[1].split())
    return {
        "seconds": (end - begin) / 1e9,
        "requests": last_one - first,
        "read_bytes": SECTOR * (high - low),
        "requests_before": first,
        "bytes_before": SECTOR * low,
        "read_ahead_kb": window,
    }


def boot(image: Path) -> Document:
    """Boot a board with an image as its root, wait for its end, and return that boot.

    Raises BootError and BoardError.
    """
    append = f"{OPTIONS.append} {MEASURED}"
    prepared = launch.make(
        replace(OPTIONS, image=str(image.absolute()), append=append, sleeps=False), print
    )
    with tempfile.TemporaryDirectory(prefix="foreread-board-") as name:
        folder = Path(name)
        process = launch.launch(prepared, folder, tied=True)
        try:
            process.wait(PATIENCE_S)
        finally:
            state.end(folder)
        return boot_of((folder / launch.LOG).read_text(errors="replace"))


def main(words: Sequence[str] | None = None) -> int:
    """Boot an image several times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("image", type=Path, metavar="IMAGE")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    parser.add_argument("--case", default="", metavar="NAME", help="name in the tables")
    args = parser.parse_args(words)
    boots = [boot(args.image) for _ in range(args.repeat)]
    document = {
        "schema": SCHEMA,
        "case": args.case or args.image.stem,
        "image_bytes": args.image.stat().st_size,
        "runs": boots,
    }
    args.output.write_text(json.dumps(document, indent=1) + "\n")
    seconds = [run["seconds"] for run in boots]
    print(f"{document['case']}: {median(seconds):.3f} s of {' '.join(f'{s:.3f}' for s in seconds)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
