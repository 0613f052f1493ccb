"""The boot script that applies the chosen settings, its wrappers, and how they get on a board."""

from analyzer.apply.board_access import InstallError
from analyzer.apply.install import Checked, Installed, Removed, check_installed, install, uninstall
from analyzer.apply.make import Script, script
from analyzer.apply.plan import ApplyError, ApplyPlan, Board, Disk, Prefetch, Setting
from analyzer.apply.predicted import plan_from
from analyzer.apply.tuned import plan_of_tuning
from analyzer.apply.write import write_scripts

__all__ = [
    "ApplyError",
    "ApplyPlan",
    "Board",
    "Checked",
    "Disk",
    "InstallError",
    "Installed",
    "Prefetch",
    "Removed",
    "Script",
    "Setting",
    "check_installed",
    "install",
    "plan_from",
    "plan_of_tuning",
    "script",
    "uninstall",
    "write_scripts",
]
