"""Parametric storage optimisation (Zadok et al., HotStorage 2015) on this machine or a board.

    storage.py measure mailserver -o landscape.json --place board   every file system of a part
    storage.py compete landscape.json                               the genetic algorithm on that
    storage.py tune mailserver -o tuning --place loop               the genetic algorithm live

What is interrupted goes on where it was when it is started again. Devices that are named lose what
they hold: one that is in use is refused, one that is not blank too, but with --overwrite.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import msgspec

from foreread.analyzer.tuner.campaign.attempts import CampaignError
from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.campaign.progress import CampaignProgress
from foreread.analyzer.tuner.evaluation import Evaluator, chromosome_of, key_of
from foreread.analyzer.tuner.space.genes import Allele, Chromosome, Space
from foreread.analyzer.tuner.store.records import Spec
from foreread.analyzer.tuner.store.store import Store, StoreError
from foreread.boards.base.interrupts import Interrupted, orderly_exit
from foreread.boards.emulated.error import BoardError
from foreread.boards.target import TargetError
from studies.tuning.landscape import (
    Landscape,
    LandscapeError,
    Row,
    Table,
    read_landscape,
    write_table,
)
from studies.tuning.storage_chromosomes import (
    DISK_TYPE,
    SCHEDULER,
    configurations,
    defaults,
    storage_space,
)
from studies.tuning.storage_places import (
    PARTS,
    Place,
    StorageEvaluator,
    board_place,
    loop_place,
    named_place,
)
from studies.tuning.storage_rules import RuleSet
from studies.tuning.storage_runs import engine_of, show, spec_of, text_of
from studies.tuning.storage_search import (
    PAPER,
    document_of,
    figures_of,
    search,
    table,
    table_of_runs,
)
from studies.tuning.storage_trial import StorageError

HERE = Path(__file__).parent
JOBS = HERE / "jobs"
RUNS = (1, 2, 3, 4, 5)  # the paper's five
_FAILURES = (
    StorageError,
    TargetError,
    BoardError,
    StoreError,
    LandscapeError,
    CampaignError,
    Interrupted,
)


def main(words: Sequence[str] | None = None) -> int:
    """Do what the words say; the exit status."""
    options = _options(words)
    try:
        with orderly_exit():
            {"measure": measure, "compete": compete, "tune": tune}[options.do](options)
    except _FAILURES as error:
        print(f"storage.py: {error}; {error.remedy}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"storage.py: {error}; see to that, and start it again", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def measure(options: argparse.Namespace) -> None:
    """Measure every file system of the part, and keep the table after each."""
    with _place(options) as place:
        rules = PARTS[options.part](place.rules())
        more = place.v2 if options.v2 else {}
        evaluator = _evaluator(place, rules, options)
        space = storage_space(rules, more.get(SCHEDULER, ()), more.get(DISK_TYPE, ()))
        table = _begun(options.output, options.workload, place, space)
        rows = {tuple(row.alleles): row for row in table.rows}
        todo = _todo(rules, more, options.workload)
        for repeat in range(1, options.repeat + 1):
            for number, chromosome in enumerate(todo, 1):
                alleles = tuple(chromosome.values())
                values = rows[alleles].values[options.workload] if alleles in rows else []
                if len(values) >= repeat:
                    continue
                values = [*values, _measured(evaluator, chromosome, options.workload)]
                rows[alleles] = Row(list(alleles), {options.workload: values})
                table = msgspec.structs.replace(table, rows=list(rows.values()))
                write_table(options.output, table)
                _tell(
                    f"{repeat}: {number} of {len(todo)}: {values[-1]:.0f}/s {text_of(chromosome)}"
                )
    show(Landscape(table))


def _todo(
    rules: RuleSet, more: Mapping[str, Sequence[str]], workload: str
) -> list[dict[str, Allele]]:
    """Return the file systems to measure, the defaults first, with the first choices of ``more``.

    The others are shuffled, so that a drift in time does not look like the effect of a gene.
    """
    first = defaults(rules, {name: choices[0] for name, choices in more.items()})
    every = [
        {**configuration, **dict(zip(more, alleles, strict=True))}
        for configuration in configurations(rules)
        for alleles in product(*more.values())
    ]
    random.Random(workload).shuffle(every)
    return first + [configuration for configuration in every if configuration not in first]


def compete(options: argparse.Namespace) -> None:
    """Let the paper's algorithm and others search a measured landscape; print their results."""
    landscape = read_landscape(options.landscape)
    show(landscape)
    runs = [search(landscape, PAPER, seed, options.generations) for seed in RUNS]
    searches = figures_of(landscape, range(1, options.seeds + 1), options.generations)
    print(f"\n{table_of_runs(landscape, runs)}\n\n{table(searches)}")
    if options.output:
        document = {**document_of(landscape, runs), "searches": searches}
        options.output.write_text(json.dumps(document, indent=1) + "\n")


def tune(options: argparse.Namespace) -> None:
    """Run the genetic algorithm on a device, and print default against best."""
    with _place(options) as place:
        rules = PARTS[options.part](place.rules())
        more = place.v2 if options.v2 else {}
        space = storage_space(rules, more.get(SCHEDULER, ()), more.get(DISK_TYPE, ()))
        first = {name: choices[0] for name, choices in more.items()}
        engine = engine_of(space, defaults(rules, first), options.seed, options.generations)
        spec = spec_of(place.name, place.kernel, space, options.workload, options.seed)
        evaluator = _evaluator(place, rules, options)
        with _store(options.output, spec) as store:
            until = Rules(patience=None, interrupts=(StorageError,))
            campaign = Campaign(store, engine, evaluator, until, _tell_progress)
            ended = campaign.run()
            best = chromosome_of(campaign.standings.best())
            gain = campaign.standings.fitness(key_of(best))
    print(f"default: {text_of(spec.default)}")
    print(f"best:    {text_of(best)}, {gain:.2f} × the default ({ended})")


def _evaluator(place: Place, rules: RuleSet, options: argparse.Namespace) -> Evaluator:
    job = (JOBS / f"{options.workload}.fio").read_text()
    return StorageEvaluator(place.benches(job, options.seconds), rules)


@contextmanager
def _store(path: Path, spec: Spec) -> Iterator[Store]:
    with Store.resume(path) if path.exists() else Store.create(path, spec) as store:
        if store.spec != spec:
            raise StoreError(f"{path} is of another campaign", "give another file with -o")
        yield store


def _begun(path: Path, workload: str, place: Place, space: Space) -> Table:
    """Return the table as far as it is measured, without rows at first."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    new = Table(
        created=now,
        board=place.name,
        kernel=place.kernel,
        objective="rate",
        scenarios=[workload],
        genes=list(space.genes),
        rows=[],
    )
    if not path.exists():
        return new
    old = read_landscape(path).table
    same = (old.board, old.kernel, old.scenarios) == (new.board, new.kernel, new.scenarios)
    if not same or old.genes != new.genes:
        raise LandscapeError(f"{path} was measured elsewhere", "give another file with -o")
    return old


def _measured(evaluator: Evaluator, chromosome: Chromosome, workload: str) -> float:
    attempt = evaluator.evaluate(chromosome, workload)
    if attempt.value is None:
        raise StorageError(
            f"{text_of(chromosome)}: {attempt.status}: {'; '.join(attempt.notes)}",
            "what the rules allow should work: see why it does not",
        )
    return attempt.value


def _tell_progress(progress: CampaignProgress) -> None:
    best = f"best {progress.improvement:+.0%}: {text_of(progress.best)}"
    _tell(f"generation {progress.generation}, {progress.evaluations} tried, {best}")


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _place(options: argparse.Namespace) -> AbstractContextManager[Place]:
    if options.device:
        return named_place(dict(options.device), options.overwrite)
    return board_place(_tell) if options.place == "board" else loop_place()


def _disk(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise argparse.ArgumentTypeError("say TYPE=/dev/NAME, for instance sata=/dev/sdb")
    return name, path


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="do", required=True)
    for name in ("measure", "tune"):
        command = commands.add_parser(name)
        command.add_argument("workload", choices=sorted(path.stem for path in JOBS.glob("*.fio")))
        command.add_argument("-o", "--output", type=Path, required=True)
        command.add_argument("--place", choices=("loop", "board"), default="loop")
        command.add_argument("--device", type=_disk, action="append", metavar="TYPE=/dev/NAME")
        command.add_argument("--overwrite", action="store_true", help="what the devices hold")
        command.add_argument("--seconds", type=float, default=1.0, help="of fio; default 1")
        part = "few" if name == "measure" else "all"
        command.add_argument(
            "--part", choices=PARTS, default=part, help=f"of the space; default {part}"
        )
        command.add_argument("--v2", action="store_true", help="schedulers and disks too")
        if name == "measure":
            command.add_argument("--repeat", type=int, default=1)
            continue
        command.add_argument("--seed", type=int, default=1)
        command.add_argument("--generations", type=int, help="default: the paper's 200")
    command = commands.add_parser("compete")
    command.add_argument("landscape", type=Path)
    command.add_argument("--seeds", type=int, default=100, help="of each search; default 100")
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON of all figures")
    command.add_argument("--generations", type=int, help="default: the paper's 200")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
