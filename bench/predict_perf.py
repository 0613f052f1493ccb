"""Predict a perf.data of a large application's start with the kernel's model. Prints JSON.

    python bench/predict_perf.py                 # records one first (root, perf, 2 GB of /dev/shm)
    python bench/predict_perf.py --make FILE     # the same, and keeps it
    python bench/predict_perf.py FILE --model linux-6.1

The recorded start is a Python on an ext4 image of its own, cold and at read_ahead_kb=0, that
imports the packages beside it: a stand-in for LibreOffice, whose perf.data has 14 MB. Pages and
requests of every window are predicted; seconds are not, since perf records no completions in other
tasks. Each figure is of a process of its own, start of Python included; ``perf script`` prints the
file in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np
from decode_perf import COPY_BYTES, image, run
from scaling import run as measured

from foreread.analyzer.ingest.spec import EVENT_SPECS

ALLOWED_S = 2.0
MODEL = "linux-6.1"
PACKAGES = Path(np.__file__).parent.parent
EVENTS = ("filemap:", "readahead:", "block:", "sched:sched_process_")
START = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except BaseException:
        pass
"""


def fill(mount: Path) -> None:
    """Copy the interpreter, its library and its packages, without compiled modules."""
    no_caches = shutil.ignore_patterns("__pycache__", "site-packages", "test", "tests")
    library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(library, mount / "lib" / library.name, ignore=no_caches)
    shutil.copy(Path(sys.executable).resolve(), mount / "python")
    left = COPY_BYTES
    for package in sorted(PACKAGES.iterdir()):
        size = sum(file.stat().st_size for file in package.rglob("*") if file.is_file())
        if package.is_dir() and size < left:
            shutil.copytree(package, mount / "packages" / package.name, ignore=no_caches)
            left -= size


def make(path: Path) -> None:
    """Record the start."""
    listed = run("perf", "list", "tracepoint")
    events = [e for e in EVENT_SPECS if e.startswith(EVENTS) and f" {e} " in listed]
    options = [word for event in events for word in ("-e", event)]
    with image(fill) as mount:
        names = sorted(p.parent.name for p in (mount / "packages").glob("*/__init__.py"))
        run(
            *("perf", "record", "-q", "-k", "mono", "-m", "16384", "-o", str(path), *options),
            *("--", "env", "PYTHONDONTWRITEBYTECODE=1", f"PYTHONHOME={mount}"),
            *(f"PYTHONPATH={mount}/packages", f"{mount}/python", "-S", "-c", START, *names),
        )


def compare(path: Path, model: str, repeat: int) -> dict[str, object]:
    """Predict the file, and print it with perf script, in turns."""
    ours, peers = [], []
    options = ("--model", model, "--json")
    for _ in range(repeat):
        ours.append(measured(sys.executable, "-m", "foreread", "predict", str(path), *options))
        peers.append(measured("perf", "script", "--ns", "-f", "-i", str(path))[0])
    seconds, cpu_seconds, peak_kib = (min(column) for column in zip(*ours, strict=True))
    return {
        "bytes": path.stat().st_size,
        "machine": f"{platform.release()}, {os.cpu_count()} CPUs",
        "model": model,
        "predict_seconds": round(seconds, 3),
        "predict_cpu_seconds": round(cpu_seconds, 3),
        "peak_rss_mib": round(peak_kib / 1024),
        "allowed_seconds": ALLOWED_S,
        "perf_script_seconds": round(min(peers), 3),
        "ratio": round(min(peers) / seconds, 2),
    }


def main() -> int:
    """Measure; exit 1 if a prediction takes longer than allowed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--make", action="store_true", help="record FILE first")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foreread-bench-") as scratch:
        path = arguments.file or Path(scratch) / "perf.data"
        if arguments.make or arguments.file is None:
            make(path)
        result = compare(path, arguments.model, arguments.repeat)
    print(json.dumps(result, indent=1))
    return 0 if float(str(result["predict_seconds"])) <= ALLOWED_S else 1


if __name__ == "__main__":
    sys.exit(main())
