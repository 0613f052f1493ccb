"""How long `import foreread` takes, beside an empty Python and beside numpy; prints JSON.

Each is a new process; the figure is the least of several, so that what else runs counts little.
"""

import json
import subprocess
import sys
import time

REPEAT = 15
ALLOWED_MS = 50
CASES = {
    "python": "pass",
    "foreread": "import foreread",
    "foreread.load": "import foreread; foreread.load",
    "numpy": "import numpy",
}


def least_ms(code: str) -> float:
    """Return the least wall time of a Python process that runs the code."""
    times = []
    for _ in range(REPEAT):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def main() -> int:
    """Measure; exit 1 if the import takes longer than allowed."""
    took = {name: least_ms(code) for name, code in CASES.items()}
    own = {f"{name}_ms": round(took[name] - took["python"], 2) for name in CASES}
    own["python_ms"] = round(took["python"], 2)
    print(json.dumps({"repeat": REPEAT, "allowed_ms": ALLOWED_MS, **own}))
    return 0 if own["foreread_ms"] <= ALLOWED_MS else 1


if __name__ == "__main__":
    sys.exit(main())
