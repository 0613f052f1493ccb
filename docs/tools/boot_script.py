"""Writes the boot script that docs/reference/boot-script.md prints whole, and counts its lines.

``python -m docs.tools.boot_script`` writes examples/foreread-apply.sh; a test compares.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

from foreread.analyzer.apply import ApplyPlan, Board, Disk, Prefetch, Setting, write_scripts
from foreread.analyzer.apply.plan import DEFAULT_ATTEMPTS
from foreread.boards.knobs import READ_AHEAD

EXAMPLE = Path(__file__).parents[2] / "examples/foreread-apply.sh"
DISK = Disk("mmcblk0", 7_818_182_656, "SD8GB")
WINDOW = Setting(READ_AHEAD, "32", "predicted best: 1.42 s in place of 1.61 s", DISK)
PLAN = ApplyPlan(
    (WINDOW,),
    Board("aarch64", "6.1", "Raspberry Pi 4 Model B"),
    "a run of app",
    attempts=DEFAULT_ATTEMPTS,
)
GENES = (
    Setting("queue/scheduler", "bfq", "measured", DISK),
    Setting("/proc/sys/vm/swappiness", "10", "measured"),
)
KINDS = {
    "a window": PLAN,
    "a window, boots not counted (`--attempts 0`)": replace(PLAN, attempts=0),
    "a window, and another one after boot": replace(
        PLAN, settings=(WINDOW, replace(WINDOW, value="128", phase="after"))
    ),
    "a window and a prefetch list": replace(PLAN, prefetch=Prefetch(b"", b"")),
    "a window of a file system without a disk (NFS, 9p)": replace(
        PLAN, settings=(Setting("window:/", "32", "predicted best"),)
    ),
    "a window, scheduler and swappiness": replace(PLAN, settings=(*GENES, WINDOW)),
}


def script_of(plan: ApplyPlan) -> str:
    """Return the boot script of a plan."""
    with tempfile.TemporaryDirectory() as folder:
        return write_scripts(plan, Path(folder))[0].read_text()


def lengths() -> list[str]:
    """Return a list of how many lines the script of each kind has."""
    return [f"- {kind}: {script_of(plan).count(chr(10))}" for kind, plan in KINDS.items()]


if __name__ == "__main__":
    EXAMPLE.write_text(script_of(PLAN))
