"""Decode trace.dat v6 and v7: foreread against the libtracecmd C API. Prints JSON.

    python bench/decode_tracedat.py               # records 2 million events first (root, trace-cmd)
    python bench/decode_tracedat.py FILE...       # any trace.dat with foreread's events

The peer is bench/tracecmd_peer.c, compiled here (libtracecmd-dev). Rounds alternate, so that what
else the machine does falls on both; each repeats in its own process, opening the file anew.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from foreread.analyzer.ingest import tracedat
from foreread.analyzer.ingest.spec import EVENT_SPECS

PEER = Path(__file__).with_name("tracecmd_peer.c")
TRACEFS = Path("/sys/kernel/tracing")
VERSIONS = {"v6": ("6", None), "v7-zstd": ("7", "zstd")}
LOAD_MIB = 64
ROUNDS = 13  # of the load; each is about 90,000 events a CPU
# These files are denied on kernels without function tracing; trace-cmd wants to open them.
DENIED = ("set_ftrace_filter", "set_ftrace_notrace", "set_ftrace_pid", "set_ftrace_notrace_pid")
LOAD = """
import os, subprocess, sys
path, cpu, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.sched_setaffinity(0, {cpu})
file = os.open(path, os.O_RDONLY)
size = os.fstat(file).st_size
for n in range(rounds):
    for advice, stride in ((os.POSIX_FADV_NORMAL, 4096), (os.POSIX_FADV_RANDOM, 7919 * 4096)):
        os.posix_fadvise(file, 0, 0, advice)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        for offset in range(0, size * stride // 4096, stride):
            os.pread(file, 4096, offset % size)
    subprocess.run(["true"])
"""


def record(directory: Path, name: str) -> Path:
    """Record the load on two CPUs; return the trace.dat."""
    if os.geteuid() != 0 or shutil.which("trace-cmd") is None:
        sys.exit("recording needs root and trace-cmd; or give a FILE recorded elsewhere")
    version, compression = VERSIONS[name]
    output = directory / f"{name}.trace.dat"
    data = directory / "load.bin"
    data.write_bytes(os.urandom(1 << 20) * LOAD_MIB)
    events = [e for e in EVENT_SPECS if (TRACEFS / "events" / e.replace(":", "/")).is_dir()]
    options = [word for event in events for word in ("-e", event)]
    options += ["--file-version", version, *(["--compression", compression] if compression else [])]
    readers = " ".join(
        f"{sys.executable} -c '{LOAD}' {data} {cpu} {ROUNDS} &"
        for cpu in sorted(os.sched_getaffinity(0))[:2]
    )
    load = ["sh", "-c", f"{readers} wait"]
    command = ["trace-cmd", "record", "-q", "-C", "mono", "-b", "100000", "-o", str(output)]
    (directory / "empty").touch()
    (directory / "one").write_text("1")
    hide = "".join(f"mount --bind empty {TRACEFS}/{name}; " for name in DENIED)
    hide += "mount --bind one /proc/sys/kernel/ftrace_enabled; "
    subprocess.run(
        ["unshare", "-m", "sh", "-c", f'{hide} exec "$@"', "sh", *command, *options, *load],
        check=True,
        capture_output=True,
        cwd=directory,
    )
    return output


def wanted() -> str:
    """Return the rows of the peer's table of events: those that foreread decodes."""
    rows = []
    for event, spec in EVENT_SPECS.items():
        system, name = event.split(":")
        fields = [spec.fields.get(column) for column in ("dev", "ino", "index", "value")]
        words = ", ".join(f'"{field}"' if field else "NULL" for field in fields)
        rows.append(f'{{"{system}", "{name}", {spec.kind:d}, {{{words}}}}},\n')
    return "".join(rows)


def compile_peer(directory: Path) -> Path:
    peer = directory / "tracecmd_peer"
    (directory / "wanted.h").write_text(wanted())
    pkg_config = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libtracecmd"],
        check=False,
        capture_output=True,
        text=True,
    )
    if pkg_config.returncode != 0:
        sys.exit("the peer needs libtracecmd; on Debian: apt-get install libtracecmd-dev")
    flags = pkg_config.stdout.split()
    subprocess.run(["cc", "-O3", f"-I{directory}", str(PEER), "-o", str(peer), *flags], check=True)
    return peer


def peer_seconds(peer: Path, file: Path) -> tuple[int, float]:
    """Decode twice in one process; the second time is what counts, memory being warm."""
    output = subprocess.run([peer, file, "2"], check=True, capture_output=True, text=True).stdout
    events, seconds = output.splitlines()[-1].split()
    return int(events), float(seconds)


def own_seconds(file: Path) -> tuple[int, float]:
    start = time.perf_counter()
    events = tracedat.read(file).events.rows
    return events, time.perf_counter() - start


def compare(peer: Path, file: Path, repeat: int) -> dict[str, object]:
    own_seconds(file)  # memory and page cache warm, as for the peer
    ours, peers = [], []
    for _ in range(repeat):
        events, seconds = own_seconds(file)
        ours.append(seconds)
        peer_events, seconds = peer_seconds(peer, file)
        peers.append(seconds)
        assert events == peer_events
    own_rate = events / statistics.median(ours)
    peer_rate = events / statistics.median(peers)
    return {
        "file": file.name,
        "bytes": file.stat().st_size,
        "events": events,
        "foreread_seconds": [round(s, 4) for s in ours],
        "foreread_million_events_per_s": round(own_rate / 1e6, 2),
        "libtracecmd_seconds": [round(s, 4) for s in peers],
        "libtracecmd_million_events_per_s": round(peer_rate / 1e6, 2),
        "ratio": round(own_rate / peer_rate, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="foreread-bench-"))
    try:
        peer = compile_peer(directory)
        files = arguments.files or [record(directory, name) for name in VERSIONS]
        result = {
            "machine": f"{platform.release()}, {os.cpu_count()} CPUs",
            "traces": [compare(peer, file, arguments.repeat) for file in files],
        }
        print(json.dumps(result, indent=1))
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
