"""Installs the boot script or the udev rule on a board, enables it, and removes it again.

All files are on the board and read back before the first gets its name, so that a board has either
its old files or all new ones (``on_target.sh``).
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from foreread.boards.base.scratch import scratch_folder
from foreread.boards.origin import is_found, origins_of
from foreread.boards.target import Result, Target, TargetError
from foreread.tracer.error import InstallError
from foreread.tracer.formats.boot_files import PLACE, SCRIPT, SCRIPT_PLACES
from foreread.tracer.install import rule
from foreread.tracer.install.board_access import STEP_S, BoardAccess, BoardFacts, refused_by_target
from foreread.tracer.install.init_system import (
    INITTAB,
    RELOADS,
    SYSTEMD_RUNS,
    BootPlan,
    Init,
    default_init,
    init_of,
    layout_for,
    with_lines,
    without_lines,
)
from foreread.tracer.install.interrupted import finish_interrupted, installed, waiting
from foreread.tracer.install.manifest import (
    MANIFEST,
    Manifest,
    encode,
    expected_states,
    obsolete_paths,
    sha256,
)

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
    """The removed files, and the messages about the old values that were put back."""

    paths: list[str]
    said: list[str]


@dataclass(frozen=True)
class Checked:
    """The status of the installed script or udev rule, and whether all is as wanted."""

    program: str
    lines: list[str]
    holds: bool


def uninstall(target: Target, *, force: bool = False) -> Removed:
    """Restore the old values, and remove the files that ``install`` put on the board.

    ``force`` removes files that were changed since, too. Raises as ``Installation`` does.
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
    """Return the status of the board's script or rule, with what sets other values; None without.

    Raises InstallError, and TargetError when the board is out of reach.
    """
    board = BoardAccess(target)
    try:
        manifest = installed(board)
        places = SCRIPT_PLACES if manifest is None else (manifest.program,)
        states = board.states(places)
        program = next((place for place in places if states[place] != "absent"), None)
        if program is None:
            return None
        if program in SCRIPT_PLACES:
            lines, holds = _script_status(target, program)
        else:
            lines, holds = rule.status(target, manifest.windows if manifest else {})
    except OSError as error:
        raise refused_by_target(error) from error
    return Checked(program, _with_origins(target, lines), holds)


def _script_status(target: Target, script: str) -> tuple[list[str], bool]:
    done = target.run([script, "status"], timeout_s=_STATUS_S)
    if done.status not in _STATUS:
        why = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise InstallError(
            f"{script} status does not run on the target: {why or f'status {done.status}'}",
            "install it again: foreread script CAPTURE -o DIR --install --target T",
        )
    return (done.stdout + done.stderr).decode(errors="replace").splitlines(), done.status == 0


def _with_origins(target: Target, lines: list[str]) -> list[str]:
    """Return the status with what sets each window that is not as wanted after its line."""
    windows = [window[1] if (window := _OTHER_WINDOW.match(line)) else "" for line in lines]
    origins = origins_of(target, [window for window in windows if window])
    return [
        text
        for line, window in zip(lines, windows, strict=True)
        for text in (line, *(f"{window}: {sentence}" for sentence in origins.get(window, ())))
    ]


class Installation:
    """The installation of a plan on a board that has been examined; nothing is changed yet.

    ``script`` is where the board gets the boot script, or would: the files must name that place.
    Raises InstallError, and TargetError when the board is out of reach.
    """

    def __init__(
        self, target: Target, plan: BootPlan, init: Init | None = None, *, force: bool = False
    ) -> None:
        self.board, self.plan, self.force = BoardAccess(target), plan, force
        try:
            self._examine(init)
        except OSError as error:
            raise refused_by_target(error) from error

    @property
    def script(self) -> str:
        """The script's path on the board; also where a rule makes it unnecessary."""
        return self.layout.script or PLACE

    def run(self, folder: Path) -> Installed:
        """Install the files written in ``folder``; see ``foreread.install``."""
        try:
            return self._run(folder)
        except OSError as error:
            raise refused_by_target(error) from error

    def _examine(self, init: Init | None) -> None:
        board, plan = self.board, self.plan
        before = installed(board)
        finish_interrupted(board, before)
        self.facts = board.look(plan.state_dir)
        self.init = init or default_init(plan, self.facts.exe, self.facts.has)
        self.chosen = init is None
        self.before = before or Manifest(init=self.init, script="")
        self.inittab = without_lines(self.facts.inittab, self.before.lines.get(INITTAB, ()))
        self.layout = layout_for(self.init, plan, _place(self.facts), self.inittab, self.facts.rcs)

    def _run(self, folder: Path) -> Installed:
        sources = self._sources(folder)
        would_do, fits = self._check(folder / SCRIPT)
        manifest = self._manifest(sources, would_do)
        self._refuse_conflicts(manifest)
        places = [MANIFEST, *sources, *self.layout.links]
        created = self.board.call("prepare", *places)
        directories = [*created, *self.before.directories]
        manifest = msgspec.structs.replace(manifest, directories=directories)
        listed = folder / "manifest"
        listed.write_bytes(encode(manifest))
        try:
            self._stage({MANIFEST: listed, **sources})
            notes = self._notes()
            replaced = self._replaced_script()
        except BaseException:
            self._discard(places, created)
            raise
        self._commit(places, created, manifest)
        _reload(self.board, self.facts, self.before, manifest)
        notes += self._end_before(manifest, replaced)
        return Installed(manifest, would_do, fits, notes)

    def _sources(self, folder: Path) -> dict[str, Path]:
        """Return place -> file in ``folder``; an edited inittab is written there."""
        sources = {place: folder / name for place, name in self.layout.files.items()}
        for path in {**self.before.lines, **self.layout.lines}:
            lines = self.layout.lines.get(path, ())
            sources[path] = folder / "edited"
            text = with_lines(self.inittab, lines) if lines else self.inittab
            sources[path].write_bytes(text.encode(errors="surrogateescape"))
        return sources

    def _manifest(self, sources: dict[str, Path], dry_run: list[str]) -> Manifest:
        script = self.layout.script
        return Manifest(
            init=self.init,
            script=script,
            files={place: sha256(sources[place]) for place in self.layout.files},
            links=self.layout.links,
            lines={path: list(lines) for path, lines in self.layout.lines.items()},
            attempts=self.plan.attempts_file if self.plan.attempts and script else "",
            windows={} if script else rule.windows_of(dry_run, self.before.windows),
        )

    def _refuse_conflicts(self, manifest: Manifest) -> None:
        """Refuse to replace a file that differs from both the installed and the new version."""
        accepted = expected_states(manifest)
        for path, states in expected_states(self.before).items():
            accepted[path] = [*accepted.get(path, []), *states]
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

    def _check(self, script: Path) -> tuple[list[str], bool]:
        """Return the output of the script's dry run, and whether it accepts this board."""
        done = _run_script(self.board, script.read_bytes(), "dry-run")
        lines = done.stdout.decode(errors="replace").splitlines()
        complaints = done.stderr.decode(errors="replace").splitlines()
        if done.status not in (0, 1):
            last = complaints[-1] if complaints else f"status {done.status}"
            raise InstallError(
                f"the script does not run on the target: {last}", "check that /bin/sh exists there"
            )
        if done.status and not self.force:
            why = "; ".join(line.removeprefix("foreread: ") for line in complaints)
            raise InstallError(
                f"the script cannot set every value on this board: {why or lines[-1]}",
                "record on this board, or install anyway with --force",
            )
        return [*complaints, *lines], not done.status

    def _commit(self, places: list[str], created: list[str], manifest: Manifest) -> None:
        obsolete = obsolete_paths(self.before, manifest)
        try:
            self.board.call("commit", *places, "--", *obsolete)
        except InstallError:  # it has ended; after any other error it may still be running there
            self._discard(places, created)
            raise

    def _discard(self, places: list[str], created: list[str]) -> None:
        with contextlib.suppress(InstallError, TargetError, OSError):
            self.board.call("discard", *places)
            self.board.call("remove", "--", *created)

    def _replaced_script(self) -> bytes | None:
        """Return the text of an installed script that the rule replaces."""
        if self.layout.script or not self.before.script:
            return None
        return self.board.content(self.before.script)

    def _end_before(self, manifest: Manifest, script: bytes | None) -> list[str]:
        """Put back the values of the earlier installation that the new one does not set alike."""
        windows = {
            path: values
            for path, values in self.before.windows.items()
            if manifest.windows.get(path, ("", ""))[1] != values[1]
        }
        with contextlib.suppress(TargetError, OSError):  # all is installed: a boot ends them, too
            return _put_back(self.board, self.facts, script, windows)
        return []

    def _notes(self) -> list[str]:
        notes = [*self._notes_on_rule(), *self._notes_on_attempts(), *self._notes_on_others()]
        if not self.layout.lines:
            return notes
        script = self.layout.script
        return [
            *notes,
            "what the sysinit lines of /etc/inittab start comes before it: to set the values "
            f"earlier, call `{script} start` there",
        ]

    def _notes_on_rule(self) -> list[str]:
        """Return how to get the script where the rule was chosen."""
        if self.layout.script or not self.chosen:
            return []
        with contextlib.suppress(InstallError):
            init = init_of(self.facts.exe, self.facts.has)
            return [
                "the udev rule sets the window when udev handles the disk, while services start; "
                "to set it before the first service starts, install the boot script instead: "
                f"repeat this with --init {init}"
            ]
        return []

    def _notes_on_others(self) -> list[str]:
        """Return what else sets the windows on this board, as far as it is found."""
        origins = origins_of(self.board.target, self.plan.windows)
        return [
            f"something else sets {knob}, too: {sentence}"
            for knob, sentences in origins.items()
            for sentence in sentences
            if is_found(sentence)
        ]

    def _notes_on_attempts(self) -> list[str]:
        folder = self.plan.state_dir
        counts = self.plan.attempts and self.layout.script
        obstacle = self.facts.obstacle(folder, programs=False) if counts else ""
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
    script = board.content(manifest.script) if manifest.script else None
    restored = _put_back(board, facts, script, manifest.windows)
    _edit_lines(board, manifest)
    paths = [*reversed(manifest.paths), *manifest.counters, MANIFEST]
    board.call("remove", *paths, "--", *manifest.directories)
    _reload(board, facts, manifest)
    return Removed([*manifest.lines, *paths], restored)


def _put_back(
    board: BoardAccess, facts: BoardFacts, script: bytes | None, windows: rule.Windows
) -> list[str]:
    """Put the values before an installation back: by its script, or the windows of its rule."""
    if script is None:
        return rule.put_back(board.target, windows)
    if SYSTEMD_RUNS in facts.has:
        board.target.run(["systemctl", "stop", "foreread.service"], timeout_s=30.0)
    return _run_script(board, script, "restore").stderr.decode(errors="replace").splitlines()


def _run_script(board: BoardAccess, script: bytes, command: str) -> Result:
    """Run a boot script that is not on the board, or is no longer."""
    return board.target.run(["sh", "-s", "--", command], stdin=script, timeout_s=STEP_S)


def _edit_lines(board: BoardAccess, manifest: Manifest) -> None:
    with scratch_folder() as folder:
        for path, lines in manifest.lines.items():
            edited = Path(folder, "edited")
            text = without_lines(board.text(path), lines)
            edited.write_bytes(text.encode(errors="surrogateescape"))
            board.target.push(edited, path)


def _reload(board: BoardAccess, facts: BoardFacts, *manifests: Manifest) -> None:
    """Let a running systemd or udev read its files; otherwise it reads them when it starts."""
    for init in dict.fromkeys(manifest.init for manifest in manifests):
        running, command = RELOADS.get(init, ("", []))
        if running in facts.has:
            with contextlib.suppress(TargetError):  # the next boot reads them
                board.target.run(command, timeout_s=30.0)
