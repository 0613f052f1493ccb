"""Installs what a plan sets on a board: its files are written here and carried there."""

from __future__ import annotations

from pathlib import Path

from foreread.analyzer.apply.plan import ApplyPlan
from foreread.analyzer.apply.write import write_scripts
from foreread.boards.base.scratch import scratch_folder
from foreread.boards.target import Target
from foreread.tracer.install.init_system import Init
from foreread.tracer.install.install import Installation, Installed


def install(
    target: Target, plan: ApplyPlan, init: Init | None = None, *, force: bool = False
) -> Installed:
    """Install the script of ``plan`` for the board's init system, from the next boot on.

    Where udev runs and its rule is enough the rule is installed, unless ``init`` is given.

    ``force`` replaces files that foreread did not install or that were changed since, and
    installs on a board that the plan was not made for, too.

    Raises InstallError and ApplyError, and TargetError when the board is out of reach; then the
    board is unchanged (if out of reach: except for files that no init system reads).
    """
    installation = Installation(target, plan, init, force=force)
    with scratch_folder() as folder:
        write_scripts(plan, Path(folder), installation.script)
        return installation.run(Path(folder))
