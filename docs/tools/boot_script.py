"""Writes the boot script, and its length by kind, into the page that prints it whole.

``python -m docs.tools.boot_script`` rewrites docs/reference/boot-script.md; a test compares.
"""

import re
import tempfile
from dataclasses import replace
from pathlib import Path

from analyzer.apply import ApplyPlan, Board, Disk, Prefetch, Setting, write_scripts
from analyzer.apply.plan import DEFAULT_ATTEMPTS, READ_AHEAD

PAGE = Path(__file__).parents[1] / "reference/boot-script.md"
_ROWS = re.compile(r"(\| settings \| lines \|\n\|---\|---\|\n)(\|.*\n)*")
_FENCE = re.compile(r"^```sh\n.*?^```$", re.MULTILINE | re.DOTALL)
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


def refreshed(text: str) -> str:
    """Return the page with the script and the lengths that foreread writes now."""
    rows = "".join(f"| {kind} | {script_of(p).count(chr(10))} |\n" for kind, p in KINDS.items())
    text = _ROWS.sub(lambda head: head[1] + rows, text)
    return _FENCE.sub(lambda _: f"```sh\n{script_of(PLAN)}```", text)


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text()))
