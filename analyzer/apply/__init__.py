"""The boot script that applies the chosen settings, and the files that install it."""

from analyzer.apply.make import Script, script
from analyzer.apply.plan import ApplyError, ApplyPlan, Board, Disk, Prefetch, Setting
from analyzer.apply.predicted import plan_from
from analyzer.apply.tuned import plan_of_tuning
from analyzer.apply.write import write_scripts

__all__ = [
    "ApplyError",
    "ApplyPlan",
    "Board",
    "Disk",
    "Prefetch",
    "Script",
    "Setting",
    "plan_from",
    "plan_of_tuning",
    "script",
    "write_scripts",
]
