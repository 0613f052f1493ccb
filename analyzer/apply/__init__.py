"""The boot script that applies the chosen settings, and its wrappers."""

from analyzer.apply.plan import ApplyError, ApplyPlan, Board, Disk, Setting, plan_from
from analyzer.apply.write import write_scripts

__all__ = ["ApplyError", "ApplyPlan", "Board", "Disk", "Setting", "plan_from", "write_scripts"]
