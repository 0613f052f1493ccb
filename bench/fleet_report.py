"""Time and memory of ``fleet report``, and of looking up what is stored, by the size of the store.

    python bench/fleet_report.py                          # 20,000 captures
    python bench/fleet_report.py --captures 1000000       # a day of a large fleet

The store is synthetic: DuckDB makes its rows (22 windows a capture) in the columns of a real one,
on 40 boards with 25 starts each, a file for 64 captures. Prints JSON. The peer is DuckDB's count of
all rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from foreread.analyzer.fleet.rows import COLUMNS  # noqa: E402
from foreread.analyzer.fleet.store import open_store, rows_sql  # noqa: E402

BOARDS, STARTS, IN_A_FILE = 40, 25, 64
WINDOWS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 640, 768, 1023)

# i: number of the capture in its partition; s: seconds now, which drift from build to build.
_VALUES = {
    "key": "md5({of} || '-' || i)",
    "source": "'s3://fleet/2026-11-25/' || {of} || '/' || i || '.capture.tar.xz'",
    "source_key": "md5({of} || '+' || i)",
    "content": "md5({of} || '*' || i)",
    "bytes": "230000",
    "foreread": "'0.1.0'",
    "analysed": "TIMESTAMP '2026-11-25' + to_seconds(i)",
    "cpu_seconds": "0.5",
    "asked_model": "''",
    "asked_device": "''",
    "board_name": "'board-{board}'",
    "machine": "'aarch64'",
    "cpu_model": "'Cortex-A53'",
    "cpu_count": "4",
    "memory_kib": "1048576",
    "kernel": "'6.12.' || (i % 5)",
    "build": "'build-' || (i % 5)",
    "command": "'/usr/bin/app-{start}'",
    "created": "TIMESTAMP '2026-11-24' + to_seconds(i)",
    "recorded_seconds": "s",
    "lost_events": "0",
    "cold": "true",
    "accessed_pages": "3500",
    "model": "'linux-6.12'",
    "verdict": "'set'",
    "why": "'32 KiB is predicted to take less time'",
    "now_kb": "128",
    "proposed_kb": "CASE WHEN i % 7 = 0 THEN 48 ELSE 32 END",
    "requests_now": "900 + i % 50",
    "seconds_now": "s",
    "seconds_proposed": "s * 0.9",
    "gain": "0.1",
    "doubts": "[]",
}
_WINDOW = {
    "key": _VALUES["key"],
    "device": "'mmcblk0'",
    "window_pages": "w",
    "read_ahead_kb": "4 * w",
    "requests": "3500 // (w + 1) + 100",
    "f": "3500 // (w + 1)",
    "g": "20 * w",
    "pages": "3500 + 20 * w",
    "seconds": "s * (0.9 + 0.1 * abs(log2((w + 1) / 9)) / 3)",
    "seconds_low": "s * 0.8",
    "seconds_high": "s * 1.2",
}


def columns(values: dict[str, str], kind: str) -> str:
    """Return the columns of a store as SQL."""
    known = {"row": f"'{kind}'", **values}
    return ", ".join(
        f"CAST({known.get(column.name, 'NULL')} AS {column.kind}) AS {column.name}"
        for column in COLUMNS
    )


def make(store: Path, captures: int) -> int:
    """Write the store; return the number of its files."""
    open_store(str(store), create=True)
    if made := sum(1 for _ in store.rglob("*.parquet")):
        return made
    each = max(captures // (BOARDS * STARTS), 1)
    files = 0
    with duckdb.connect(config={"threads": 1}) as database:
        for number in range(min(BOARDS * STARTS, captures)):
            board, start = number % BOARDS, number // BOARDS
            folder = store / f"rows/board=board-{board}/start=app-{start}"
            folder.mkdir(parents=True)
            for first in range(0, each, IN_A_FILE):
                last = min(first + IN_A_FILE, each)
                text = _part(board, start, first, last)
                database.execute(f"COPY ({text}) TO '{folder}/{first}.parquet' (COMPRESSION zstd)")
                files += 1
    return files


def _part(board: int, start: int, first: int, last: int) -> str:
    seconds = f"{1 + board / 20 + start / 10} * (1 + 0.02 * (i % 5)) * (1 + (hash(i) % 100) / 2000)"
    rows = f"(SELECT i, {seconds} AS s FROM range({first}, {last}) AS t(i))"
    values = {name: text.format(**_names(board, start)) for name, text in _VALUES.items()}
    window = {name: text.format(**_names(board, start)) for name, text in _WINDOW.items()}
    windows = ", ".join(map(str, WINDOWS))
    return (
        f"SELECT {columns(values, 'capture')} FROM {rows} UNION ALL "
        f"SELECT {columns(window, 'window')} FROM {rows}, (SELECT unnest([{windows}]) AS w)"
    )


def _names(board: int, start: int) -> dict[str, object]:
    return {"board": board, "start": start, "of": f"'{board}-{start}'"}


def measured(text: str, *words: str) -> dict[str, Any]:
    """Return seconds and peak memory of Python that runs a text."""
    peak = "\nimport re; from pathlib import Path; "
    peak += "print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])"
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", text + peak, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    seconds = round(time.monotonic() - began, 2)
    return {"seconds": seconds, "peak_mib": int(done.stdout.split()[-1]) >> 10}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captures", type=int, default=20_000)
    parser.add_argument(
        "--store", type=Path, help="folder for the store, which is kept and used again"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        store = args.store or Path(name) / "store"
        began = time.monotonic()
        files = make(store, args.captures)
        made = round(time.monotonic() - began, 2)
        query = f"SELECT count(*) FROM {rows_sql(str(store))}"
        count = f"import duckdb; print(duckdb.execute({query!r}).fetchall())"
        library = (
            "import sys, foreread.fleet as fleet\n"
            "from foreread.analyzer.fleet.store import open_store\n"
        )
        result = {
            "captures": args.captures,
            "files": files,
            "bytes": sum(path.stat().st_size for path in store.rglob("*.parquet")),
            "made_in_seconds": made,
            "report": measured(
                f"{library}fleet.fleet_report(sys.argv[1], sys.argv[2])",
                str(store),
                f"{name}/report",
            ),
            "known_keys": measured(
                f"{library}assert len(open_store(sys.argv[1]).known())", str(store)
            ),
            "peer_count": measured(count),
            "load": [round(each, 2) for each in os.getloadavg()],
        }
        print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
