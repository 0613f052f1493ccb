"""``foreread fingerprint``: the class of the current workload, and the settings that suit it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import partial

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.tuner.engines.fingerprint import BY_NAME
from foreread.analyzer.tuner.engines.patterns import Pattern
from foreread.analyzer.tuner.findings.plans import (
    Plans,
    check_learning,
    for_watcher,
    learn,
    read_plans,
)
from foreread.analyzer.tuner.space.losses import losses_in
from foreread.analyzer.tuner.store.records import TopGenes
from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.base.outputs import check_changed
from foreread.boards.base.printable import printable
from foreread.boards.base.units import percent_text
from foreread.boards.base.written import write_whole
from foreread.boards.open import open_target
from foreread.cli.arguments import UsageError, whole_number
from foreread.cli.arguments.applying import add_applying
from foreread.cli.arguments.learning import add_learning
from foreread.cli.arguments.output import add_output
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.text.watching import FactPrinter
from foreread.documents.fingerprint import WatchScriptDocument
from foreread.tracer.error import TracerError
from foreread.tracer.machines import restore_settings
from foreread.tracer.remote.job import Fact
from foreread.tracer.remote.watch import (
    Period,
    Watch,
    WatchOptions,
    parse_period,
    resident_script,
    watching,
)
from foreread.tuning.learning import LEAST_S, Learning, Observer, minute_of_day, seconds_left

_LONGEST_S = 3600


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_target(parser)
    parser.add_argument(
        "--watch", action="store_true", help="print a line for every period until Ctrl-C"
    )
    parser.add_argument(
        "--interval",
        metavar="S",
        type=partial(whole_number, least=1, most=_LONGEST_S, what="whole seconds"),
        default=10,
        help="length of a period in seconds (default: 10)",
    )
    parser.add_argument(
        "--device",
        metavar="D",
        dest="devices",
        action="append",
        default=[],
        help="disk to watch, such as mmcblk0; repeatable (default: all disks)",
    )
    add_output(
        parser,
        "--learn",
        metavar="TUNING",
        check=lambda path, _option: check_changed(path, opened=True),
        help="associate the running workload with the best settings in this file",
    )
    add_applying(parser)
    add_learning(parser)


def run(args: argparse.Namespace) -> int:
    """Watch, and print periods and actions."""
    _check_usage(args)
    if args.learn is not None:
        check_learning(args.learn)  # before the first period is watched
    if args.output is not None:
        return _write_script(args, _watch_options(args)[0])
    with orderly_exit():
        learning = _learning(args) if args.learn_at else None
        while _watched(args, learning):
            pass
    return 0


def _watched(args: argparse.Namespace, learning: Learning | None) -> bool:
    """Watch until Ctrl-C, or until it is time to learn; learn, and return whether to watch on."""
    options, patterns = _watch_options(args)
    show = FactPrinter(args.interval, args.json, patterns)
    observer = None
    if learning is not None:
        observer = Observer(learning.file, args.patience, learning.refresh())
    opened = open_target(args.target, identity=args.identity, tell=tell)
    with opened as target:
        for note in restore_settings(target) if options.plans else []:
            tell(note)
        with watching(target, options) as watch:
            if not _follow(args, watch, show, learning, observer):
                return False
    assert learning is not None, "it is time to learn"
    _learn_one(args, learning, show)
    return True


def _watch_options(args: argparse.Namespace) -> tuple[WatchOptions, dict[str, Pattern]]:
    """Return the options of the watcher, and the learnt patterns by the watcher's names."""
    disks = _disks(args)
    plans, patterns = for_watcher(_plans(args, disks))
    losses = losses_in(setting for plan in plans.values() for setting in plan)
    for loss in losses:
        tell(loss.sentence)
    numbers = {name: tuple(asdict(pattern).values()) for name, pattern in patterns.items()}
    options = WatchOptions(
        period_s=args.interval,
        disks=disks,
        plans=plans,
        losses=[loss.sentence for loss in losses],
        patience=args.patience,
        worse_percent=args.worse_percent,
        recheck=args.recheck,
        wait_s=args.wait,
        patterns=numbers,
        by_process=args.watch,
    )
    return options, patterns


def _disks(args: argparse.Namespace) -> list[str]:
    return [name.removeprefix("/dev/") for name in args.devices]


def _follow(
    args: argparse.Namespace,
    watch: Watch,
    show: FactPrinter,
    learning: Learning | None,
    observer: Observer | None,
) -> bool:
    """Print the watcher's facts: one period, which may be learnt, or all until Ctrl-C.

    Return whether it is time to learn.
    """
    try:
        while True:
            for fact in watch.news():
                show(fact)
                if fact.key == "period" and not args.watch:
                    if args.learn is not None:
                        _learn(args, parse_period(fact))
                    return False
                if learning is not None and observer is not None:
                    _observe(learning, observer, fact, show)
            if learning is not None and observer is not None and _is_time(args, learning, observer):
                break
    except KeyboardInterrupt:
        for fact in watch.stop():
            show(fact)
        return False
    for fact in watch.stop():
        show(fact)
    return True


def _observe(learning: Learning, observer: Observer, fact: Fact, show: FactPrinter) -> None:
    observer.acted(fact.key)
    if fact.key != "period":
        return
    try:
        noted = observer.passed(parse_period(fact))
    except AnalyzerError as error:  # a tuning writes to the file
        tell(f"the pattern is not noted: {error}")
        return
    if noted is not None:
        learning.wait_for(noted)
        show(Fact("noted", noted.name))


def _is_time(args: argparse.Namespace, learning: Learning, observer: Observer) -> bool:
    left = seconds_left(args.learn_at, minute_of_day())
    if left == 0:
        learning.allow_again()
    return left >= LEAST_S and observer.idle and learning.next() is not None


def _learn_one(args: argparse.Namespace, learning: Learning, show: FactPrinter) -> None:
    """Learn the first pattern that waits; one that cannot be learnt waits for the next time."""
    pattern = learning.due[0]
    show(Fact("learning", pattern.name))
    try:
        learnt = learning.try_next(pattern, seconds_left(args.learn_at, minute_of_day()))
    except (AnalyzerError, TracerError) as error:
        show(Fact("not learnt", f"{pattern.name}: {error}"))
        return
    show(Fact("learnt", f"{pattern.name}: {_gain(learnt)}"))


def _gain(learnt: TopGenes) -> str:
    if learnt.fitness == 1:
        return "no settings are shown to be better than the original values"
    genes = ", ".join(f"{name} {allele}" for name, allele in learnt.chromosome.items())
    return f"{percent_text(1 / learnt.fitness - 1, signed=True)} of the time with {genes}"


def _learning(args: argparse.Namespace) -> Learning:
    check_changed(args.apply[0], opened=True)
    learning = Learning(
        args.apply[0],
        args.target,
        args.identity,
        _disks(args),
        args.learn_writes,
        "durability" in args.allow,
        args.wait,
        tell,
    )
    learning.check()
    return learning


def _check_usage(args: argparse.Namespace) -> None:
    if args.apply and not (args.watch or args.output):
        raise UsageError("--apply needs --watch, or -o FILE to write a script")
    if args.output is not None and not args.apply:
        raise UsageError("-o needs --apply TUNING: the script contains the settings to apply")
    if args.allow and not args.apply:
        raise UsageError("--allow needs --apply TUNING")
    if args.learn is not None and (args.watch or args.apply):
        raise UsageError("--learn observes one period: remove --watch and --apply")
    if args.learn_at and not (args.watch and len(args.apply) == 1):
        raise UsageError("--learn-at needs --watch and one --apply TUNING, which learns")
    if args.learn_writes is not None and not args.learn_at:
        raise UsageError("--learn-writes needs --learn-at HH:MM-HH:MM")


def _plans(args: argparse.Namespace, disks: list[str]) -> Plans:
    """Return the plans of all files; of a fingerprint that several have, the last one's."""
    plans: Plans = {}
    for path in args.apply:
        plans |= read_plans(path, disks, "durability" in args.allow, bool(args.learn_at))
    return plans


def _write_script(args: argparse.Namespace, options: WatchOptions) -> int:
    write_whole(args.output, resident_script(options).encode(), 0o755)
    path = str(args.output)
    document = WatchScriptDocument(script=path, plans=options.plans, losses=list(options.losses))
    print(document.to_json() if args.json else f"script: {printable(path)}")
    return 0


def _learn(args: argparse.Namespace, period: Period) -> None:
    fingerprint = BY_NAME.get(period.fingerprint)
    if fingerprint is None:
        raise UsageError(
            "--learn: no disk activity was seen; start the workload, or use a longer --interval"
        )
    best = learn(args.learn, fingerprint)
    if not args.json:
        genes = ", ".join(f"{name} {allele}" for name, allele in best.items())
        print(printable(f"{args.learn}: {fingerprint} has {genes}"))
