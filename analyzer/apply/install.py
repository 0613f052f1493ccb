"""Installs the boot script on a board, enables it, and removes it again.

All files are on the board and read back before the first gets its name, so that a board has either
its old files or all new ones (``on_target.sh``).
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from analyzer.apply.board_access import BoardAccess, BoardFacts, InstallError, refused_by_target
from analyzer.apply.init_system import (
    INITTAB,
    SYSTEMD_RUNS,
    Init,
    init_of,
    layout_for,
    with_lines,
    without_lines,
)
from analyzer.apply.interrupted import finish_interrupted, installed, waiting
from analyzer.apply.manifest import (
    MANIFEST,
    SCRIPT_PLACES,
    Manifest,
    encode,
    expected_states,
    obsolete_paths,
    sha256,
)
from analyzer.apply.plan import ApplyPlan
from analyzer.apply.write import write_scripts
from boards.origin import is_found, origins_of
from boards.scratch import scratch_folder
from boards.target import Target, TargetError

_STATUS = (0, 1, 3)  # of the script: as wanted, not all, not started
_STATUS_S = 30.0
_OTHER_WINDOW = re.compile(r"(/\S+/read_ahead_kb): \S+ -> ")  # of the script's status


@dataclass(frozen=True)
class Installed:
    """The installed files, and the output of the script's dry run on the board."""

    manifest: Manifest
    would_do: list[str]
    fits: bool
    notes: list[str]


@dataclass(frozen=True)
class Removed:
    """The removed files, and the script's output when it restored the old values."""

    paths: list[str]
    said: list[str]


@dataclass(frozen=True)
class Checked:
    """What the installed script's status says, and whether all is as wanted."""

    script: str
    lines: list[str]
    holds: bool


def install(
    target: Target, plan: ApplyPlan, init: Init | None = None, *, force: bool = False
) -> Installed:
    """Install the script of ``plan`` for the board's init system, from the next boot on.

    ``force`` replaces files that foreread did not install or that were changed since, and
    installs on a board that the plan was not made for, too.

    Raises InstallError and ApplyError, and TargetError when the board is out of reach; then the
    board is unchanged (if out of reach: except for files that no init system reads).
    """
    try:
        return _Installation(BoardAccess(target), plan, init, force).run()
    except OSError as error:
        raise refused_by_target(error) from error


def uninstall(target: Target, *, force: bool = False) -> Removed:
    """Restore the old values, and remove the files that ``install`` put on the board.

    ``force`` removes files that were changed since, too. Raises as ``install`` does.
    """
    board = BoardAccess(target)
    try:
        manifest = installed(board)
        if manifest is None:
            raise InstallError(
                f"nothing is installed on the target: it has no {MANIFEST}",
                "remove by hand what was installed by hand: see INSTALL.md",
            )
        facts = board.look()
        _refuse_unwritable(facts)
        finish_interrupted(board, manifest)
        _refuse_changed(board.states(manifest.paths), expected_states(manifest), force)
        return _remove(board, facts, manifest)
    except OSError as error:
        raise refused_by_target(error) from error


def check_installed(target: Target) -> Checked | None:
    """Return the status of the script on the board, with what sets other values; None without one.

    Raises InstallError, and TargetError when the board is out of reach.
    """
    board = BoardAccess(target)
    try:
        manifest = installed(board)
        places = SCRIPT_PLACES if manifest is None else (manifest.script,)
        states = board.states(places)
        script = next((place for place in places if states[place] != "absent"), None)
        if script is None:
            return None
        done = target.run([script, "status"], timeout_s=_STATUS_S)
    except OSError as error:
        raise refused_by_target(error) from error
    if done.status not in _STATUS:
        said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise InstallError(
            f"{script} status does not run on the target: {said or f'status {done.status}'}",
            "install it again: foreread script CAPTURE -o DIR --install --target T",
        )
    lines = (done.stdout + done.stderr).decode(errors="replace").splitlines()
    return Checked(script, _with_origins(target, lines), done.status == 0)


def _with_origins(target: Target, lines: list[str]) -> list[str]:
    """Return the status with what sets each window that is not as wanted after its line."""
    windows = [window[1] if (window := _OTHER_WINDOW.match(line)) else "" for line in lines]
    origins = origins_of(target, [window for window in windows if window])
    return [
        text
        for line, window in zip(lines, windows, strict=True)
        for text in (line, *(f"{window}: {sentence}" for sentence in origins.get(window, ())))
    ]


class _Installation:
    def __init__(self, board: BoardAccess, plan: ApplyPlan, init: Init | None, force: bool) -> None:
        self.board, self.plan, self.force = board, plan, force
        before = installed(board)
        finish_interrupted(board, before)
        self.facts = board.look(plan.state_dir)
        self.init = init or init_of(self.facts.exe, self.facts.has)
        self.before = before or Manifest(init=self.init, script=SCRIPT_PLACES[0])
        self.inittab = without_lines(self.facts.inittab, self.before.lines.get(INITTAB, ()))
        self.layout = layout_for(self.init, plan, _place(self.facts), self.inittab, self.facts.rcs)

    def run(self) -> Installed:
        with scratch_folder() as folder:
            sources = self._write(Path(folder))
            manifest = self._manifest(sources)
            self._refuse_conflicts(manifest)
            places = [MANIFEST, *sources, *self.layout.links]
            made = self.board.call("prepare", *places)
            directories = [*made, *self.before.directories]
            manifest = msgspec.structs.replace(manifest, directories=directories)
            listed = Path(folder, "manifest")
            listed.write_bytes(encode(manifest))
            try:
                self._stage({MANIFEST: listed, **sources})
                would_do, fits = self._check()
                notes = self._notes()
            except BaseException:
                self._discard(places, made)
                raise
        self._commit(places, made, manifest)
        _reload_systemd(self.board, self.facts)
        return Installed(manifest, would_do, fits, notes)

    def _write(self, folder: Path) -> dict[str, Path]:
        """Write the files; return place -> file."""
        write_scripts(self.plan, folder, self.layout.script)
        sources = {place: folder / name for place, name in self.layout.files.items()}
        for path in {**self.before.lines, **self.layout.lines}:
            lines = self.layout.lines.get(path, ())
            sources[path] = folder / "edited"
            text = with_lines(self.inittab, lines) if lines else self.inittab
            sources[path].write_bytes(text.encode(errors="surrogateescape"))
        return sources

    def _manifest(self, sources: dict[str, Path]) -> Manifest:
        return Manifest(
            init=self.init,
            script=self.layout.script,
            files={place: sha256(sources[place]) for place in self.layout.files},
            links=self.layout.links,
            lines={path: list(lines) for path, lines in self.layout.lines.items()},
            attempts=self.plan.attempts_file if self.plan.attempts else "",
        )

    def _refuse_conflicts(self, manifest: Manifest) -> None:
        """Refuse to replace a file that differs from both the installed and the new version."""
        accepted = expected_states(manifest)
        for path, known in expected_states(self.before).items():
            accepted[path] = [*accepted.get(path, []), *known]
        _refuse_changed(self.board.states([*accepted]), accepted, self.force)
        for path, state in self.board.states([*manifest.lines]).items():
            if state in ("absent", "other") or state.startswith("link "):
                raise InstallError(
                    f"{path} on the target is a link or not a regular file", "see INSTALL.md"
                )

    def _stage(self, sources: dict[str, Path]) -> None:
        """Write every file beside its place on the board, and read it back."""
        for place, source in sources.items():
            mode = 0o755 if source.stat().st_mode & 0o100 else 0o644
            self.board.target.push(source, waiting(place), mode)
        if self.layout.links:
            self.board.call("links", *(word for pair in self.layout.links.items() for word in pair))
        there = self.board.states([waiting(place) for place in sources])
        for place, source in sources.items():
            if there[waiting(place)] != sha256(source):
                raise InstallError(
                    f"the copy of {place} on the target differs from what was sent",
                    "try again; check the target's flash",
                )

    def _check(self) -> tuple[list[str], bool]:
        """Return the output of the script's dry run, and whether it accepts this board."""
        done = self.board.target.run([waiting(self.layout.script), "dry-run"], timeout_s=30.0)
        said = done.stdout.decode(errors="replace").splitlines()
        complaints = done.stderr.decode(errors="replace").splitlines()
        if done.status not in (0, 1):
            last = complaints[-1] if complaints else f"status {done.status}"
            raise InstallError(
                f"the script does not run on the target: {last}", "check that /bin/sh exists there"
            )
        if done.status and not self.force:
            why = "; ".join(line.removeprefix("foreread: ") for line in complaints)
            raise InstallError(
                f"the script cannot set every value on this board: {why or said[-1]}",
                "record on this board, or install anyway with --force",
            )
        return [*complaints, *said], not done.status

    def _commit(self, places: list[str], made: list[str], manifest: Manifest) -> None:
        obsolete = obsolete_paths(self.before, manifest)
        try:
            self.board.call("commit", *places, "--", *obsolete)
        except InstallError:  # it has ended; after any other error it may still be running there
            self._discard(places, made)
            raise

    def _discard(self, places: list[str], made: list[str]) -> None:
        with contextlib.suppress(InstallError, TargetError, OSError):
            self.board.call("discard", *places)
            self.board.call("remove", "--", *made)

    def _notes(self) -> list[str]:
        notes = [*self._notes_on_attempts(), *self._notes_on_others()]
        if not self.layout.lines:
            return notes
        script = self.layout.script
        return [
            *notes,
            "what the sysinit lines of /etc/inittab start comes before it: to set the values "
            f"earlier, call `{script} start` there",
        ]

    def _notes_on_others(self) -> list[str]:
        """Return what else sets the windows on this board, as far as it is found."""
        paths = dict.fromkeys(setting.path for setting in self.plan.settings)
        windows = [path for path in paths if path.endswith("/read_ahead_kb")]
        origins = origins_of(self.board.target, windows)
        return [
            f"something else sets {knob}, too: {sentence}"
            for knob, sentences in origins.items()
            for sentence in sentences
            if is_found(sentence)
        ]

    def _notes_on_attempts(self) -> list[str]:
        folder = self.plan.state_dir
        obstacle = self.facts.obstacle(folder, programs=False) if self.plan.attempts else ""
        if not obstacle:
            return []
        return [
            f"boots that hang cannot be counted in {folder}, which {obstacle}: give --state-dir "
            "a folder that is writable when the script runs and survives a power cut, or "
            "--attempts 0"
        ]


def _place(facts: BoardFacts) -> str:
    """Return the script's directory: /usr/sbin, or /etc if only that is writable."""
    _refuse_unwritable(facts)
    return next(place for place in SCRIPT_PLACES if not facts.obstacle(place.rpartition("/")[0]))


def _refuse_unwritable(facts: BoardFacts) -> None:
    if obstacle := facts.obstacle("/etc"):
        raise InstallError(
            f"/etc of the target {obstacle}",
            "make it writable for the installation (mount -o remount,rw /), or build the files "
            "into the "
            'image: INSTALL.md, "Yocto" and "Buildroot"',
        )


def _refuse_changed(states: dict[str, str], accepted: dict[str, list[str]], force: bool) -> None:
    for path, state in states.items():
        if state == "other":
            raise InstallError(
                f"{path} on the target is not a regular file", "check it and remove it"
            )
        if state not in ("absent", *accepted[path]) and not force:
            raise InstallError(
                f"{path} on the target was changed since foreread installed it",
                "save your changes elsewhere, then repeat with --force",
            )


def _remove(board: BoardAccess, facts: BoardFacts, manifest: Manifest) -> Removed:
    if SYSTEMD_RUNS in facts.has:
        board.target.run(["systemctl", "stop", "foreread.service"], timeout_s=30.0)
    done = board.target.run([manifest.script, "restore"], timeout_s=30.0)
    _edit_lines(board, manifest)
    paths = [*reversed(manifest.paths), *manifest.counters, MANIFEST]
    board.call("remove", *paths, "--", *manifest.directories)
    _reload_systemd(board, facts)
    return Removed([*manifest.lines, *paths], done.stderr.decode(errors="replace").splitlines())


def _edit_lines(board: BoardAccess, manifest: Manifest) -> None:
    with scratch_folder() as folder:
        for path, lines in manifest.lines.items():
            edited = Path(folder, "edited")
            text = without_lines(board.text(path), lines)
            edited.write_bytes(text.encode(errors="surrogateescape"))
            board.target.push(edited, path)


def _reload_systemd(board: BoardAccess, facts: BoardFacts) -> None:
    """Reload a running systemd; otherwise it reads the links when it starts."""
    if SYSTEMD_RUNS in facts.has:
        with contextlib.suppress(TargetError):  # all is installed: the next boot reads it
            board.target.run(["systemctl", "daemon-reload"], timeout_s=30.0)
