"""The boot script that applies the chosen settings, and the files that install it."""

from foreread.analyzer.apply.make import Script, script
from foreread.analyzer.apply.plan import ApplyError, ApplyPlan, Board, Disk, Prefetch, Setting
from foreread.analyzer.apply.predicted import plan_from
from foreread.analyzer.apply.tuned import plan_of_tuning
from foreread.analyzer.apply.write import write_scripts

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
