"""The studies of tuning, one after the other; each writes its figures as JSON.

    python -m studies.tuning.run [-o DIR] [STUDY...]

What is measured once is kept (measure.py's raw file, a storage landscape); a study goes on from
there. DIR/NAME.json has the figures of a study, DIR/NAME.txt what it printed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def _on_landscape(name: str, workload: str, *part: str) -> tuple[tuple[str, ...], ...]:
    """Return the commands that measure a part of the file systems, and search it."""
    table, figures = f"{{out}}/storage-{name}.json", f"{{out}}/storage-{name}-found.json"
    measured = ("storage.py", "measure", workload, "-o", table, "--place", "board", *part)
    return measured, ("storage.py", "compete", table, "-o", figures)


# By study, the commands in order: words, of which {out} is the folder for figures.
STUDIES = {
    "start-up": (
        *(("measure.py", "--landscape", name) for name in ("madplay", "writer", "php")),
        ("from_earlier.py", "-o", "{out}/from-earlier.json"),
    ),
    "confirmation-noise": (
        ("confirmation_noise.py", "-o", "{out}/confirmation-noise.json"),
        ("confirmation_noise.py", "--campaigns", "2000", "-o", "{out}/simulated-campaigns.json"),
    ),
    "contest": (("contest.py", "-o", "{out}/contest.jsonl"),),
    "fingerprints": (
        ("fingerprint_table.py",),
        ("fingerprints.py", "-o", "{out}/fingerprints.json"),
        ("fingerprints.py", "--live", "1", "-o", "{out}/fingerprints-live.json"),
    ),
    "genetic-library": (
        ("fingerprint_table.py",),
        ("genetic_library.py", "-o", "{out}/genetic-library.json"),
    ),
    "turns": (("turns.py", "-o", "{out}/turns.json"),),
    "ioperf": (("ioperf.py", "-o", "{out}/ioperf.json"),),
    "storage": (
        *_on_landscape("mailserver", "mailserver", "--part", "fewer"),
        *_on_landscape("few", "mailserver", "--part", "few"),
        *_on_landscape("schedulers", "mailserver", "--part", "plain", "--v2"),
        *_on_landscape("fileserver", "fileserver", "--part", "fewer"),
    ),
    "faults": (("faults.py", "-o", "{out}/faults.json"),),
}


def run(name: str, out: Path) -> int:
    """Run the commands of a study until one fails; return its exit code."""
    with (out / f"{name}.txt").open("w") as log:
        for script, *words in STUDIES[name]:
            line = [
                sys.executable,
                "-m",
                module_of(script),
                *(word.format(out=out) for word in words),
            ]
            done = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environment())
            for text in done.stdout or ():
                print(text, end="", flush=True)
                log.write(text)
            if code := done.wait():
                return code
    return 0


def module_of(script: str) -> str:
    """Return the name of a script of this folder."""
    return f"{__package__}.{script.removesuffix('.py')}"


def environment() -> dict[str, str]:
    """Return the environment in which the scripts find foreread's packages."""
    root = str(HERE.parents[1].resolve())
    path = os.environ.get("PYTHONPATH")
    path = f"{root}{os.pathsep}{path}" if path else root
    # The model's matrices are small: a second thread for them costs more than it saves.
    return {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}


def main() -> int:
    """Run the named studies, all by default."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="STUDY", help=", ".join(STUDIES))
    parser.add_argument("-o", "--output", type=Path, default=Path("tune-study-out"), metavar="DIR")
    args = parser.parse_args()
    for name in set(args.names) - set(STUDIES):
        parser.error(f"no study {name!r}: say {', '.join(STUDIES)}")
    args.output.mkdir(parents=True, exist_ok=True)
    for name in args.names or STUDIES:
        print(f"== {name}", flush=True)
        if code := run(name, args.output):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
