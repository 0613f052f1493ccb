"""``foreread fingerprint``: the class of the current workload, and the settings that suit it."""

from __future__ import annotations

import argparse
from pathlib import Path

from analyzer.tuner.engines.fingerprint import BY_NAME, Snapshot
from analyzer.tuner.findings.plans import Plans, check_learning, learn, read_plans
from analyzer.tuner.space.losses import losses_in
from boards.open import open_target
from boards.outputs import check_changed, check_file
from boards.written import write_whole
from foreread.cli.arguments import UsageError, seconds
from foreread.cli.arguments.allow import add_allow
from foreread.cli.arguments.output import add_output
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.main import printable
from foreread.documents.fingerprint import DoneDocument, PeriodDocument, WatchScriptDocument
from tracer.interrupts import orderly_exit
from tracer.machines import restore_settings
from tracer.remote.job import Fact
from tracer.remote.watch import (
    Period,
    Watch,
    WatchOptions,
    parse_period,
    parse_verdict,
    resident_script,
    watching,
)

_LONGEST_S = 3600
_MOST_PERIODS = 1000
_MOST_PERCENT = 99
# The watcher's actions on knobs (watch.sh, knobs.sh), in words.
_VERDICTS = {
    "undone": "  undone: the settings for {} made {} worse: ",
    "kept": "  the settings for {} suit it{}: ",
}
_DONE = {
    "applied": "  applied the settings for {}",
    "defaults": "  there are no settings for {}: the original values are in force",
    "measuring": "  measuring {} with the original values, for comparison",
    "knob": "  {}",
    "moved": "  another program has set: {}",
    "unset": "  refused: {}",
    "note": "  {}",
    "restored": "  restored: {}",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_target(parser)
    parser.add_argument(
        "--watch", action="store_true", help="print a line for every period until Ctrl-C"
    )
    parser.add_argument(
        "--interval",
        metavar="S",
        type=_seconds,
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
    _add_applying(parser)


def _add_applying(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("apply settings by workload")
    group.add_argument(
        "--apply",
        metavar="TUNING",
        type=Path,
        action="append",
        default=[],
        help="with --watch: apply the best settings of this file while a workload that it has "
        "learnt "
        "runs; repeatable",
    )
    add_allow(group, "durability")
    group.add_argument(
        "--patience",
        metavar="N",
        type=_periods,
        default=3,
        help="number of periods that a workload must last, that the original values run before "
        "its settings are applied, and that these run before both are compared (default: 3)",
    )
    group.add_argument(
        "--worse-percent",
        metavar="P",
        type=_percent,
        default=10,
        help="undo settings that lower throughput, or raise the latency of requests, by more than "
        "P percent compared with the original values (default: 10)",
    )
    group.add_argument(
        "--recheck",
        metavar="N",
        type=_recheck,
        default=60,
        help="measure the original values again after N periods, and try undone settings again "
        "after N periods; the number doubles while the result stays the same, up to 32 times; "
        "0: never (default: 60)",
    )
    add_output(
        group,
        "-o",
        "--output",
        metavar="FILE",
        check=check_file,
        help="write a shell script that does this on a board without foreread (actions: start, "
        "stop, "
        "status)",
    )
    group.add_argument(
        "--wait",
        type=seconds,
        default=0.0,
        metavar="S",
        help="wait up to S seconds if another foreread holds this machine's settings (default: 0)",
    )


def run(args: argparse.Namespace) -> int:
    """Watch, and print periods and actions."""
    _check_usage(args)
    if args.learn is not None:
        check_learning(args.learn)  # before the first period is watched
    disks = [name.removeprefix("/dev/") for name in args.devices]
    plans = _plans(args.apply, disks, "durability" in args.allow)
    losses = losses_in(setting for plan in plans.values() for setting in plan)
    for loss in losses:
        tell(loss.sentence)
    options = WatchOptions(
        period_s=args.interval,
        disks=disks,
        plans=plans,
        losses=[loss.sentence for loss in losses],
        patience=args.patience,
        worse_percent=args.worse_percent,
        recheck=args.recheck,
        wait_s=args.wait,
    )
    if args.output is not None:
        return _write_script(args, options)
    opened = open_target(args.target, identity=args.identity, tell=tell)
    with orderly_exit(), opened as target:
        for note in restore_settings(target) if options.plans else []:
            tell(note)
        with watching(target, options) as watch:
            _follow(args, watch)
    return 0


def _follow(args: argparse.Namespace, watch: Watch) -> None:
    """Print the watcher's facts: one period, which may be learnt, or all until Ctrl-C."""
    show = _show_json if args.json else _show_text
    try:
        while True:
            for fact in watch.news():
                show(args.interval, fact)
                if fact.key == "period" and not args.watch:
                    if args.learn is not None:
                        _learn(args, parse_period(fact))
                    return
    except KeyboardInterrupt:
        for fact in watch.stop():
            show(args.interval, fact)


def _check_usage(args: argparse.Namespace) -> None:
    if args.apply and not (args.watch or args.output):
        raise UsageError("--apply needs --watch, or -o FILE to write a script")
    if args.output is not None and not args.apply:
        raise UsageError("-o needs --apply TUNING: the script contains the settings to apply")
    if args.allow and not args.apply:
        raise UsageError("--allow needs --apply TUNING")
    if args.learn is not None and (args.watch or args.apply):
        raise UsageError("--learn observes one period: remove --watch and --apply")


def _plans(paths: list[Path], disks: list[str], risked: bool) -> Plans:
    """Return the plans of all files; of a fingerprint that several have, the last one's."""
    plans: Plans = {}
    for path in paths:
        plans |= read_plans(path, disks, risked)
    return plans


def _write_script(args: argparse.Namespace, options: WatchOptions) -> int:
    write_whole(args.output, resident_script(options).encode(), 0o755)
    path = str(args.output)
    document = WatchScriptDocument(script=path, plans=options.plans, losses=list(options.losses))
    print(document.to_json() if args.json else f"script: {printable(path)}")
    return 0


def _learn(args: argparse.Namespace, period: Period) -> None:
    found = BY_NAME.get(period.fingerprint)
    if found is None:
        raise UsageError(
            "--learn: no disk activity was seen; start the workload, or use a longer --interval"
        )
    best = learn(args.learn, found)
    if not args.json:
        genes = ", ".join(f"{name} {allele}" for name, allele in best.items())
        print(printable(f"{args.learn}: {found} has {genes}"))


def _show_json(period_s: int, fact: Fact) -> None:
    """Print a period or an action as a line of JSON."""
    if fact.key == "period":
        print(_document(period_s, parse_period(fact)).to_json(), flush=True)
    elif fact.key in _VERDICTS:
        print(_done(fact).to_json(), flush=True)
    elif fact.key in _DONE:
        print(DoneDocument(done=fact.key, what=fact.value).to_json(), flush=True)


def _done(fact: Fact) -> DoneDocument:
    """Return the document of a comparison with the defaults."""
    verdict = parse_verdict(fact)
    return DoneDocument(
        done=fact.key,
        what=fact.value,
        fingerprint=verdict.fingerprint,
        worse=verdict.why or None,
        default_bytes_per_ms=verdict.throughput[0],
        plan_bytes_per_ms=verdict.throughput[1],
        default_latency_ms=verdict.latency_ms[0],
        plan_latency_ms=verdict.latency_ms[1],
    )


def _document(period_s: int, period: Period) -> PeriodDocument:
    snapshot = Snapshot(**period.sums)
    # The watcher on the target decides whether a period has a workload.
    published = snapshot.fingerprint(published=True) if period.fingerprint else None
    return PeriodDocument(
        fingerprint=period.fingerprint or None,
        pattern_published=published.pattern if published else None,
        seconds=period_s,
        reads=snapshot.reads,
        writes=snapshot.writes,
        size_bytes=snapshot.size_bytes,
        distance_sectors=snapshot.distance,
        jump_share=snapshot.jump_share,
    )


def _show_text(period_s: int, fact: Fact) -> None:
    if fact.key == "period":
        print(_line(parse_period(fact)), flush=True)
    elif fact.key in _VERDICTS:
        print(_verdict(fact), flush=True)
    elif fact.key in _DONE:
        what = fact.value.replace("\t", " ").rstrip()
        print(printable(_DONE[fact.key].format(what)), flush=True)


def _verdict(fact: Fact) -> str:
    """Return a comparison in words: figures with the original values, then with the settings."""
    verdict = parse_verdict(fact)
    said = _VERDICTS[fact.key].format(verdict.fingerprint, verdict.why)
    rates = _change(verdict.throughput, ".0f", "bytes per ms of disk time")
    latencies = _change(verdict.latency_ms, ".3g", "ms a request")
    return f"{said}throughput {rates}, latency {latencies}"


def _change(figures: tuple[float | None, float | None], form: str, unit: str) -> str:
    before, after = figures
    if before is None or after is None:
        return "unknown"
    share = f" ({100 * (after / before - 1):+.0f} %)" if before else ""
    return f"{before:{form}} -> {after:{form}} {unit}{share}"


def _line(period: Period) -> str:
    if not period.fingerprint:
        return "no workload"
    one = Snapshot(**period.sums)
    return (
        f"{period.fingerprint:<24} {one.reads:g} reads, {one.writes:g} writes, "
        f"{one.size_bytes / 1024:.1f} KiB on average, {100 * one.jump_share:.0f} % jumps "
        f"({one.distance:,.0f} sectors from start to start)"
    )


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= _LONGEST_S):
        raise argparse.ArgumentTypeError(f"{text!r}: say whole seconds from 1 to {_LONGEST_S}")
    return int(text)


def _percent(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= _MOST_PERCENT):
        raise argparse.ArgumentTypeError(f"{text!r}: say whole percent from 1 to {_MOST_PERCENT}")
    return int(text)


def _recheck(text: str) -> int:
    return 0 if text == "0" else _periods(text)


def _periods(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= _MOST_PERIODS):
        raise argparse.ArgumentTypeError(f"{text!r}: say a number from 1 to {_MOST_PERIODS}")
    return int(text)
