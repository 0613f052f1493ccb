"""``foreread boards``: board profiles, and the emulated boards."""

from __future__ import annotations

import argparse
import shlex
from functools import partial
from importlib import import_module
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from foreread.analyzer.predict.disk.device_model import device_of
from foreread.boards.base.document import encode
from foreread.boards.base.outputs import check_new
from foreread.boards.base.printable import printable
from foreread.boards.base.written import write_whole
from foreread.boards.emulated.live import ended, running
from foreread.boards.live import live_profile, target_profile
from foreread.boards.open import LOCAL, open_target, transport_of
from foreread.boards.profile import Profile, Storage, known_profiles, load_profile
from foreread.boards.profile_toml import encode_profile
from foreread.cli.arguments.output import add_json, add_output
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.commands import boards_start
from foreread.cli.text import table
from foreread.documents.boards import BoardsDocument

MORE = {
    "run": "start an emulated board and run a command on it",
    "start": "start an emulated board and keep it running, as a target",
    "stop": "stop emulated boards",
}
_check_new = partial(check_new, instead="remove it if it has no changes of yours")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the known boards")
    show = actions.add_parser("show", help="show the facts of a board")
    show.add_argument("board", metavar="NAME|FILE", help="a name from the list, or a TOML file")
    new = actions.add_parser("new", help="create a profile of a running board")
    add_target(new)
    add_output(
        new,
        "-o",
        "--output",
        metavar="FILE",
        check=_check_new,
        help="file to create (default: stdout)",
    )
    for sub, function in ((listing, _list), (show, _show), (new, _new)):
        sub.set_defaults(act=function)
        add_json(sub)
    for name, summary in MORE.items():
        module = import_module(f"foreread.cli.commands.boards_{name}")
        sub = actions.add_parser(name, help=summary)
        module.add_arguments(sub)
        sub.set_defaults(act=module.run)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand."""
    code: int = args.act(args)
    return code


def _list(args: argparse.Namespace) -> int:
    profiles, started = known_profiles(), running()
    if args.json:
        running_now = [boards_start.document(board) for board in started]
        print(BoardsDocument(boards=profiles, running=running_now).to_json())
        return 0
    head = ("board", "CPU", "cost model", "facts", "what")
    rows = [(p.name, _architecture(p), _cost_models(p), _origin(p), p.title) for p in profiles]
    print(table.render(head, rows, left=frozenset(range(5))))
    for board in started:
        print(f"{board.name} runs: {shlex.join(board.ssh_words())}")
    for board in ended():
        print(
            f"{board.name} has ended by itself; start it again: {shlex.join(board.start_words())}"
        )
    return 0


def _show(args: argparse.Namespace) -> int:
    profile = load_profile(args.board)
    if args.json:
        print(encode(profile))
    else:
        print("\n".join(printable(line) for line in _lines(profile)))
    return 0


def _new(args: argparse.Namespace) -> int:
    if args.target == LOCAL:
        profile = live_profile()
    else:
        with open_target(args.target, identity=args.identity, tell=tell) as target:
            profile = target_profile(target, transport_of(args.target, args.identity))
    text = encode_profile(profile)
    if args.output is not None:
        _check_new(args.output)  # again: a file that appeared meanwhile stays
        write_whole(args.output, text.encode())
    if args.json:
        print(encode(profile))
    elif args.output is None:
        print(text, end="")
    return 0


def _lines(profile: Profile) -> list[str]:
    """Return the profile's facts, one to a line, without unknown ones."""
    lines = [f"{profile.name}: {profile.title}", f"facts: {_origin(profile)}"]
    for part in ("cpu", "memory", "kernel", "defaults", "transport"):
        value = getattr(profile, part)
        if value is not UNSET:
            lines.append(f"{part}: {_facts(msgspec.to_builtins(value))}")
    for storage in profile.storage:
        facts = msgspec.to_builtins(storage)
        facts.pop("cost", None)
        lines += [f"storage: {_facts(facts)}", f"  cost: {_cost(storage)}"]
    lines += [f"note: {note}" for note in profile.notes]
    return lines + [f"source: {source}" for source in profile.sources]


def _facts(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {' '.join(map(str, v)) if isinstance(v, list) else v}" for key, v in values.items()
    )


def _cost(storage: Storage) -> str:
    cost = storage.cost
    if isinstance(cost, UnsetType):
        return "not known"
    text = f"{device_of(cost).describe()} ({cost.obtained})"
    if not isinstance(cost.calibration, UnsetType):
        text += f", {cost.calibration.date} with {cost.calibration.tool}"
    return text + (f", {cost.source}" if cost.source else "")


def _architecture(profile: Profile) -> str:
    return "-" if isinstance(profile.cpu, UnsetType) else profile.cpu.architecture


def _cost_models(profile: Profile) -> str:
    costs = [s.cost for s in profile.storage if not isinstance(s.cost, UnsetType)]
    models = {f"{msgspec.to_builtins(cost)['model']} ({cost.obtained})" for cost in costs}
    return ", ".join(sorted(models)) or "-"


def _origin(profile: Profile) -> str:
    return "from the board itself" if profile.measured_here else "published only"
