"""Advice for single files, predicted and measured: python -m studies.advice.access COMMAND ...

    prepare --target T                           put the files and programs of STARTS on a board
    measure START --target T --shim LIBRARY -o FILE [--repeat N]
                                                 record a start, and measure its advice
    table FILE...                                print what was measured as Markdown

Measured are, cold and in turn, the present, the best window, RANDOM and SEQUENTIAL for each file
and mapping alone and with the window that is best with it, and the best of each file together.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from foreread.analyzer.advise.access_offers import accesses
from foreread.analyzer.advise.bench import ACCESS, NOTHING, Bench, Chosen
from foreread.analyzer.advise.offer import trial_of
from foreread.analyzer.advise.settings import best_alone
from foreread.analyzer.advise.situation import Situation, situation_of
from foreread.analyzer.advise.windows import windows
from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.bands import DEVIATIONS
from foreread.boards.base.document import SCHEMA
from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.open import open_target
from foreread.cli.main import main as foreread
from studies.accuracy.markdown import NONE, markdown
from studies.advice.measure import Cell, measure

PROGRAMS = Path(__file__).parent / "programs"
FOLDER = "/app"
TERMS, MEDIA_KIB, SAMPLES, ROWS = 100_000, 6144, 262_144, 24_000
_QUERY = (
    "with recursive r(i, k) as (select 1, 12345 union all select i + 1, "
    "(k * 1103515245 + 12345) % 2147483648 from r where i < 150) "
    f"select sum(length(v)) from r join t on t.id = r.k % {ROWS};"
)
QUERIES = {
    "random-read": f"pragma mmap_size = 0; {_QUERY}",
    "random-mapped": f"pragma mmap_size = 100000000; {_QUERY}",
    "scan-read": "pragma mmap_size = 0; select sum(length(v)) from t;",
}
STARTS = {
    **{f"sqlite-{name}": ("sqlite3", f"{FOLDER}/data.db", text) for name, text in QUERIES.items()},
    "terms": (f"{FOLDER}/terms", "find", FOLDER, "100"),
    "media": (f"{FOLDER}/media", "play", FOLDER, "60"),
}
HEAD = ("start", "advice", "KiB")
FIGURES = ("predicted s", "measured s", "error %")


def prepare(target: str) -> None:
    """Make the files and the programs here, and put them on a board."""
    with tempfile.TemporaryDirectory() as folder, open_target(target, tell=print) as board:
        inside = Path(folder)
        for name in ("terms", "media"):
            source = PROGRAMS / f"{name}.c"
            words = ["cc", "-std=gnu11", "-O2", "-o", str(inside / name), str(source)]
            subprocess.run(words, check=True)
        _run(inside, "./terms", "make", ".", str(TERMS))
        _run(inside, "./media", "make", ".", str(MEDIA_KIB), str(SAMPLES))
        table = "create table t(id integer primary key, v blob);"
        numbers = (
            f"with recursive r(i) as (select 1 union all select i + 1 from r where i < {ROWS})"
        )
        _run(
            inside,
            "sqlite3",
            "data.db",
            f"{table} {numbers} insert into t select i, randomblob(380) from r;",
        )
        board.run(["sh", "-c", "swapoff -a; rm -f /swapfile"])  # room for the files
        board.run(["mkdir", "-p", FOLDER])
        for path in sorted(inside.iterdir()):
            board.run(["sh", "-c", f"cat >{FOLDER}/{path.name}"], stdin=path.read_bytes())
            board.run(["chmod", "755", f"{FOLDER}/{path.name}"])
        board.run(["sync"])


def _run(folder: Path, *words: str) -> None:
    subprocess.run(words, cwd=folder, check=True)


def combinations(situation: Situation) -> Iterator[Chosen]:
    """Yield what is measured: see the module."""
    bench = Bench(situation)
    by_window = [*windows(situation).values()]
    offers = [offer for offer in accesses(situation) if offer.trial is not None]
    together = frozenset(
        offer for offer in best_alone(bench, offers) if bench.saved(frozenset([offer])) > 0
    )
    alone = [NOTHING, *(frozenset([offer]) for offer in offers)]
    for chosen in dict.fromkeys([*alone, together]):
        yield chosen
        with_window = [chosen | {window} for window in by_window]
        bench.replay(with_window)
        best = min([chosen, *with_window], key=lambda each: bench.cost(each).seconds)
        if best != chosen:
            yield best


def cells(situation: Situation) -> list[Cell]:
    """Return the combinations with their predictions."""
    bench, present = Bench(situation), situation.kib(situation.now)
    made: list[Cell] = []
    for chosen in combinations(situation):
        trial = trial_of(chosen)
        assert trial is not None
        what = " + ".join(sorted(f"{e.advice} {e.call} {e.path}" for e in trial.advice))
        window = present if trial.read_ahead_kb is None else trial.read_ahead_kb
        seconds = bench.cost(chosen).seconds
        made.append(Cell(what or "-", window, seconds, advice=tuple(trial.advice)))
    return made


def table(files: Sequence[Path]) -> str:
    """Return what was measured as Markdown, the figures of each kernel beside the other's."""
    cells: dict[tuple[str, str, int], dict[str, tuple[str, ...]]] = {}
    kernels: set[str] = set()
    for file in files:
        document = json.loads(file.read_text())
        kernel = ".".join(document["kernel"].split(".")[:2])
        kernels.add(kernel)
        for row in document["rows"]:
            key = (document["start"], row["what"], row["read_ahead_kb"])
            cells.setdefault(key, {})[kernel] = _figures(row)
    head = [*HEAD, *(f"{kernel}: {each}" for kernel in sorted(kernels) for each in FIGURES)]
    lacking = (NONE,) * len(FIGURES)
    rows = [
        (start, what, str(window), *(text for k in sorted(kernels) for text in own.get(k, lacking)))
        for (start, what, window), own in cells.items()
    ]
    return "\n".join(markdown(head, rows))


def _figures(row: Mapping[str, Any]) -> tuple[str, ...]:
    seconds = median(row["seconds"])
    predicted = row["predicted"]
    return (f"{predicted:.3f}", f"{seconds:.3f}", f"{100 * (predicted / seconds - 1):+.1f}")


def deviation(files: Sequence[Path]) -> str:
    """Return the errors of the savings by advice, relative to the seconds that are predicted.

    The root of their mean square is what ACCESS in analyzer/advise/bench.py is learnt from.
    """
    errors: list[float] = []
    for file in files:
        now, *rows = json.loads(file.read_text())["rows"]
        for row in rows:
            if "fadvise" in row["what"] or "madvise" in row["what"]:
                saved = now["predicted"] - row["predicted"]
                measured_s = median(now["seconds"]) - median(row["seconds"])
                errors.append((saved - measured_s) / row["predicted"])
    within = sum(abs(error) <= DEVIATIONS * ACCESS for error in errors)
    mean_square = sum(error**2 for error in errors) / len(errors)
    return (
        f"{len(errors)} savings: deviation {100 * mean_square**0.5:.2f} %, "
        f"largest {100 * max(map(abs, errors)):.2f} %, {within} within the band"
    )


def measured(args: argparse.Namespace) -> dict[str, Any]:
    """Record a start, and return the measured advice."""
    with tempfile.TemporaryDirectory() as folder:
        capture = str(Path(folder) / "capture")
        words = ["record", "--target", args.target, "-o", capture, "--", *STARTS[args.start]]
        if foreread(words) != 0:
            sys.exit(1)
        recording = load(capture)
        args.replayer = None
        rows = measure(cells(situation_of([recording])), recording, args, {})
        kernel = recording.capture.host.kernel if recording.capture.host else ""
    return {"schema": SCHEMA, "start": args.start, "kernel": kernel, "rows": rows}


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    preparing = commands.add_parser("prepare")
    preparing.add_argument("--target", required=True, metavar="T")
    measuring = commands.add_parser("measure")
    measuring.add_argument("start", choices=STARTS)
    measuring.add_argument("--target", required=True, metavar="T")
    measuring.add_argument("--shim", type=Path, required=True, metavar="LIBRARY")
    measuring.add_argument("--repeat", type=int, default=2)
    measuring.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    printing = commands.add_parser("table")
    printing.add_argument("files", nargs="+", type=Path, metavar="FILE")
    args = parser.parse_args()
    if args.command == "prepare":
        prepare(args.target)
    elif args.command == "table":
        print(table(args.files), deviation(args.files), sep="\n\n")
    else:
        with orderly_exit():
            document = measured(args)
        args.output.write_text(json.dumps(document, indent=1) + "\n")
        print(table([args.output]))


if __name__ == "__main__":
    main()
