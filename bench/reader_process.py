"""What it costs to read a capture in a process of its own. Prints JSON.

    python bench/reader_process.py                   # the shipped capture, and 3e5 events
    python bench/reader_process.py --sizes 1000000   # more

Each figure is the median of processes that load a capture once: in the same process, in a fork and
in another interpreter, in turns. CPU seconds include the reader's; peaks are resident MiB of the
caller and of its reader, of which pages that both map count twice.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.scaling import EXAMPLE, Original
from foreread.tracer.formats.archive import unpack

LOAD = """
import json, os, resource, sys, tempfile, time
from pathlib import Path
from foreread.analyzer.ingest import load
how, path = sys.argv[1:]
os.environ["FOREREAD_READER"] = how
begin = time.perf_counter()
if how == "same":
    kept = load.read(Path(path), "tree", tempfile.gettempdir())
else:
    kept = load.load_any(path)
seconds = time.perf_counter() - begin
kept.trace.read_fields("sched:sched_process_exec", ())
trace = kept.trace
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
del kept, trace  # ends the reader
own, other = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
cpu = sum(one.ru_utime + one.ru_stime for one in (own, other))
print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, "caller_mib": peak / 1024,
                  "reader_mib": other.ru_maxrss / 1024}))
"""
HOW = ("same", "fork", "spawn")


def measured(capture: Path, repeat: int) -> dict[str, dict[str, float]]:
    """Return the medians of each way to read a capture's directory."""
    runs: dict[str, list[dict[str, float]]] = {how: [] for how in HOW}
    for _ in range(repeat):
        for how in HOW:
            done = subprocess.run(
                [sys.executable, "-c", LOAD, how, str(capture)],
                check=True,
                capture_output=True,
                cwd=Path(__file__).resolve().parent.parent,
            )
            runs[how].append(json.loads(done.stdout))
    return {
        how: {name: round(median(row[name] for row in rows), 3) for name in rows[0]}
        for how, rows in runs.items()
    }


def main() -> None:
    """Measure the sizes asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[300_000])
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foreread-bench-") as name:
        scratch = Path(name)
        unpack(EXAMPLE, scratch)
        capture = next(scratch.glob("*/capture.json")).parent
        result = {"the shipped capture": measured(capture, arguments.repeat)}
        original = Original(capture)
        for size in arguments.sizes:
            original.repeated(size, scratch / str(size))
            result[f"{size} events"] = measured(scratch / str(size), arguments.repeat)
        print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
