"""Speed and memory of the fixed-window emulator; prints JSON.

Speed is accesses × windows per second, sorting and dropping of repeated touches included: the
median of --repeat calls. The peer, in the same run on the same accesses, is a byte map in plain
Python, one window a pass, timed on a few windows whose results must agree.

Memory is the rise of the process's peak resident set (VmHWM, reset through
/proc/self/clear_refs) over what was resident before the call, in a fresh process; inputs are
not counted.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from foreread.emulator import FixedWindow, _fixed, fixed_window

SPREAD = 4  # one page in four is touched
SEED = 2010
PEER_WINDOWS = (0, 1, 7, 31, 127, 1023)
Accesses = tuple[Any, Any, Any]


def scattered(pages: int, files: int) -> Accesses:
    """Distinct pages in random order: no two touches in a row are neighbours."""
    span = pages // files * SPREAD
    keys = np.random.default_rng(SEED).permutation(span * files)[:pages]
    return _split(keys, span, files)


def runs(pages: int, files: int) -> Accesses:
    """Runs of 16 pages at random places, some of them overlapping: repeats occur."""
    span = pages // files * SPREAD
    starts = np.random.default_rng(SEED).integers(0, span * files - 16, pages // 16)
    return _split((starts[:, None] + np.arange(16)).ravel(), span, files)


def _split(keys: Any, span: int, files: int) -> Accesses:
    lengths = np.full(files, span, np.int64)
    return (keys // span).astype(np.uint32), (keys % span).astype(np.uint64), lengths


PATTERNS = {"scattered": scattered, "runs": runs}


def timed(accesses: Accesses, isa: Any, windows: int, repeat: int) -> dict[str, Any]:
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = fixed_window(*accesses, max_window=windows - 1, isa=isa)
        seconds.append(time.perf_counter() - start)
    median = statistics.median(seconds)
    return {
        "seconds_median": median,
        "seconds_best": min(seconds),
        "accesses_x_windows_per_second": result.tap * windows / median,
    }


def byte_map(accesses: Accesses, window: int) -> tuple[int, int]:
    """Return F and the pages loaded of one window, in plain Python."""
    lengths = accesses[2].tolist()
    maps = [bytearray(length) for length in lengths]
    block = b"\x01" * (window + 1)
    requests = 0
    for file, page in zip(accesses[0].tolist(), accesses[1].tolist(), strict=True):
        if not maps[file][page]:
            requests += 1
            end = min(page + window + 1, lengths[file])
            maps[file][page:end] = block[: end - page]
    return requests, sum(map(sum, maps))


def peer(accesses: Accesses, result: FixedWindow) -> dict[str, Any]:
    windows = [w for w in PEER_WINDOWS if w < len(result.windows)]
    start = time.perf_counter()
    counts = [byte_map(accesses, window) for window in windows]
    seconds = time.perf_counter() - start
    expected = [(int(result.requests[w]), int(result.loaded[w])) for w in windows]
    return {
        "windows_timed": windows,
        "agrees": counts == expected,
        "accesses_x_windows_per_second": result.tap * len(windows) / seconds,
    }


def resident_kib(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise LookupError(field)


def memory(pages: int, files: int, windows: int) -> dict[str, Any]:
    accesses = scattered(pages, files)
    Path("/proc/self/clear_refs").write_text("5")
    before = resident_kib("VmRSS")
    fixed_window(*accesses, max_window=windows - 1)
    rise = (resident_kib("VmHWM") - before) * 1024
    return {"files": files, "extra_bytes": rise, "extra_bytes_per_page": rise / pages}


def memory_in_fresh_process(pages: int, files: int, windows: int) -> Any:
    command = [sys.executable, __file__, "--pages", str(pages), "--files", str(files)]
    command += ["--windows", str(windows), "--memory-only"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def speed(arguments: argparse.Namespace) -> dict[str, Any]:
    isas = ["baseline", *(["avx2"] if _fixed.has_avx2() else [])]
    report: dict[str, Any] = {}
    for name, pattern in PATTERNS.items():
        accesses = pattern(arguments.pages, arguments.files)
        result = fixed_window(*accesses, max_window=arguments.windows - 1)
        report[name] = {"unique_pages": result.tap}
        for isa in isas:
            report[name][isa] = timed(accesses, isa, arguments.windows, arguments.repeat)
        report[name]["peer_python_byte_map"] = peer(accesses, result)
    return report


def benchmark(arguments: argparse.Namespace) -> dict[str, Any]:
    size = (arguments.pages, arguments.windows)
    return {
        "machine": platform.machine(),
        "pages": arguments.pages,
        "files": arguments.files,
        "windows": arguments.windows,
        "repeat": arguments.repeat,
        "speed": speed(arguments),
        "memory": [
            memory_in_fresh_process(size[0], files, size[1]) for files in (arguments.files, 1)
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--windows", type=int, default=1024)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--memory-only", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_only:
        report = memory(arguments.pages, arguments.files, arguments.windows)
    else:
        report = benchmark(arguments)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
