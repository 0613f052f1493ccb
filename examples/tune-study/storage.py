"""Parametric storage optimisation (Zadok et al., HotStorage 2015) on this machine or a board.

    storage.py measure mailserver -o landscape.json --place board   every file system of a part
    storage.py compete landscape.json                               the genetic algorithm on that
    storage.py tune mailserver -o tuning --place loop               the genetic algorithm live

What is interrupted goes on where it was when it is started again. Devices that are named lose what
they hold: one that is in use is refused, one that is not blank too, but with --overwrite.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from storage_places import (
    Place,
    StorageEvaluator,
    a_few,
    board_place,
    loop_place,
    named_place,
)

from analyzer.tuner.campaign import Campaign, CampaignError, Rules
from analyzer.tuner.engine import Engine
from analyzer.tuner.evaluation import Evaluator, chromosome_of, key_of
from analyzer.tuner.genes import Allele, Chromosome, Space
from analyzer.tuner.landscape import (
    Landscape,
    LandscapeError,
    Row,
    Table,
    read_landscape,
    write_table,
)
from analyzer.tuner.make import make_engine
from analyzer.tuner.progress import Progress
from analyzer.tuner.recipe import Genetic, load_recipe
from analyzer.tuner.records import Board, Spec
from analyzer.tuner.storage import (
    DISK_TYPE,
    SCHEDULER,
    V1,
    configurations,
    defaults,
    storage_space,
)
from analyzer.tuner.storage_rules import RuleSet
from analyzer.tuner.store import Store, StoreError
from boards.emulated.error import BoardError
from boards.target import TargetError
from tracer.interrupts import Interrupted, orderly_exit
from tracer.storage_trial import StorageError

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
    except KeyboardInterrupt:
        return 130
    return 0


def measure(options: argparse.Namespace) -> None:
    """Measure every file system of the part, and keep the table after each."""
    with _place(options) as place:
        rules = a_few(place.rules())
        evaluator = _evaluator(place, rules, options)
        table = _begun(options.output, options.workload, place, storage_space(rules))
        rows = {tuple(row.alleles): row for row in table.rows}
        # In no order: what changes with time shall not look like what changes with a gene.
        todo = list(configurations(rules))
        random.Random(options.workload).shuffle(todo)
        todo = defaults(rules) + [one for one in todo if one not in defaults(rules)]
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
                _tell(f"{repeat}: {number} of {len(todo)}: {values[-1]:.0f}/s {_text(chromosome)}")
    _show_landscape(Landscape(table), options.workload)


def compete(options: argparse.Namespace) -> None:
    """Run the genetic algorithm on a measured landscape, and say what each run found."""
    landscape = read_landscape(options.landscape)
    workload = landscape.table.scenarios[0]
    _show_landscape(landscape, workload)
    found = 0
    for seed in RUNS:
        spec = _spec(landscape.table.board, landscape.table.kernel, landscape.space, workload, seed)
        engine = _engine(landscape.space, _seeds(landscape), seed, options.generations)
        with Store.in_memory(spec) as store:
            campaign = Campaign(store, engine, landscape, Rules(patience=None))
            campaign.run()
            tried = [one for one in store.evaluations() if one.attempt.status == "ok"]
        best = chromosome_of(campaign.standings.best())
        regret = landscape.regret(best)
        found += regret == 0
        print(f"run {seed}: {_value(landscape, best, workload):.0f}/s, {regret:.1%} from the best,")
        print(f"       {_text(best)}, {len(tried)} of {landscape.points} measured")
    print(f"global best found in {found} of {len(RUNS)} runs")


def tune(options: argparse.Namespace) -> None:
    """Run the genetic algorithm on a device, and print default against best."""
    with _place(options) as place:
        rules = a_few(place.rules()) if options.part else place.rules()
        more = (place.schedulers, tuple(place.devices)) if options.v2 else ()
        space = storage_space(rules, *more)
        first = {gene.name: gene.default for gene in space.genes if gene.name in _V2}
        engine = _engine(space, defaults(rules, first), options.seed, options.generations)
        spec = _spec(place.name, place.kernel, space, options.workload, options.seed)
        evaluator = _evaluator(place, rules, options)
        with _store(options.output, spec) as store:
            until = Rules(patience=None, interrupts=(Interrupted, StorageError))
            campaign = Campaign(store, engine, evaluator, until, _tell_progress)
            ended = campaign.run()
            best = chromosome_of(campaign.standings.best())
            gain = campaign.standings.fitness(key_of(best))
    print(f"default: {_text(spec.default)}")
    print(f"best:    {_text(best)}, {gain:.2f} × the default ({ended})")


_V2 = (SCHEDULER, DISK_TYPE)


def _evaluator(place: Place, rules: RuleSet, options: argparse.Namespace) -> Evaluator:
    job = (JOBS / f"{options.workload}.fio").read_text()
    return StorageEvaluator(place.benches(job, options.seconds), rules)


def _engine(
    space: Space, seeds: Sequence[Chromosome], seed: int, generations: int | None
) -> Engine:
    recipe = load_recipe("storage-v2" if SCHEDULER in space.names else "storage-v1")
    assert isinstance(recipe, Genetic)
    if generations:
        recipe = msgspec.structs.replace(recipe, generations=generations)
    return make_engine(recipe, space, seed, seeds)


def _spec(name: str, kernel: str, space: Space, workload: str, seed: int) -> Spec:
    """Each is measured once, as there; the board is as good as exact."""
    return Spec(
        board=Board(name, kernel),
        scenarios=(workload,),
        default=space.default(),
        sampler="storage",
        seed=seed,
        objective="rate",
        fewest=1,
        most=1,
    )


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
            f"{_text(chromosome)}: {attempt.status}: {'; '.join(attempt.notes)}",
            "what the rules allow should work: see why it does not",
        )
    return attempt.value


def _seeds(landscape: Landscape) -> list[dict[str, Allele]]:
    """Return the defaults of the file systems that were measured: the first row of each."""
    first: dict[Allele, dict[str, Allele]] = {}
    for row in landscape.table.rows:
        chromosome = dict(zip(landscape.space.names, row.alleles, strict=True))
        first.setdefault(chromosome["file_system"], chromosome)
    return list(first.values())


def _value(landscape: Landscape, chromosome: Chromosome, workload: str) -> float:
    return float(landscape.evaluate(chromosome, workload).value or 0)


def _show_landscape(landscape: Landscape, workload: str) -> None:
    default, best = landscape.space.default(), landscape.optimum
    print(f"{workload}, {landscape.table.board}: {landscape.points} file systems measured")
    for name, one in (("default", default), ("best", best)):
        print(f"{name:8}{_value(landscape, one, workload):6.0f}/s {_text(one)}")


def _text(chromosome: Chromosome) -> str:
    shown = [name for name in V1 if chromosome[name] != "none"]
    shown += [name for name in _V2 if name in chromosome]
    return " ".join(str(chromosome[name]) for name in shown)


def _tell_progress(one: Progress) -> None:
    best = f"best {one.improvement:+.0%}: {_text(one.best)}"
    _tell(f"generation {one.generation}, {one.evaluations} tried, {best}")


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
        if name == "measure":
            command.add_argument("--repeat", type=int, default=1)
            continue
        command.add_argument("--part", action="store_true", help="the part that measure measures")
        command.add_argument("--v2", action="store_true", help="schedulers and disks too")
        command.add_argument("--seed", type=int, default=1)
        command.add_argument("--generations", type=int, help="default: the paper's 200")
    command = commands.add_parser("compete")
    command.add_argument("landscape", type=Path)
    command.add_argument("--generations", type=int, help="default: the paper's 200")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
