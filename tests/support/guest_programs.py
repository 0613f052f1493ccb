"""Generated programs for readahead_guest.c on a board: its commands, and the folios it prints."""

from __future__ import annotations

from pathlib import Path

from program_strategy import Drawn
from programs import PAGE, Op

EXECUTOR = Path(__file__).parent / "readahead_guest.c"
WINDOWS = (0, 1, 2, 3, 4, 7, 8, 16, 25, 32, 64, 128)  # pages

# Prints the kernel's release and the longest request of the slow disk.
# khugepaged of Linux 7.2 also looks at mapped files, every 10 s, and reads what is absent around
# a page: it does not wake for 46 days.
SET_UP = """
set -e
pause=/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs
[ ! -e $pause ] || echo 4000000000 >$pause
tracing=/sys/kernel/tracing
test -d $tracing/instances || mount -t tracefs nodev $tracing
chmod +x /root/guest
mkdir -p $tracing/instances/judge /root/files
echo 0 >$tracing/instances/judge/tracing_on
echo 1 >$tracing/instances/judge/events/filemap/mm_filemap_add_to_page_cache/enable
uname -r
cat /sys/block/slow0/queue/max_sectors_kb
"""


def commands(drawn: Drawn, window: int) -> list[str]:
    """What the executor gets: one cold run."""
    script = drawn.script
    lines = [f"window {window * PAGE // 1024}", *(f"drop {size}" for size in drawn.sizes), "go"]
    for row, mapping in enumerate(script.mappings):
        handle, *numbers = map(int, mapping)
        lines.append(f"map {row} {handle + 1} {' '.join(map(str, numbers))}")
    for op, handle, mapping, at, length in script.operations:
        lines.append(
            {
                Op.OPEN: f"open {handle + 1} {drawn.sizes[script.handles[handle]]}",
                Op.READ: f"read {handle + 1} {at} {length}",
                Op.FAULT: f"touch {mapping} {at} {length}",
            }.get(op, f"advise {handle + 1} {op - Op.NORMAL} {at} {length}")
        )
    return [*lines, "end"]


def folios(answer: str, sizes: list[int]) -> list[tuple[int, int, int]]:
    """Return (file, index, order) of each folio that came, of the program's files."""
    rows: dict[str, int] = {}
    found: list[tuple[int, int, int]] = []
    for line in answer.splitlines():
        kind, *words = line.split()
        if kind == "inode":
            rows[words[1]] = sizes.index(int(words[0]))
        elif kind == "folio" and words[0] in rows:
            found.append((rows[words[0]], int(words[1]), int(words[2])))
    return found
