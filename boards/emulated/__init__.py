"""Boards that QEMU emulates: Debian kernels of other architectures, a slow device inside."""

from foreread.boards.emulated.board import Board, BoardRun, RunPlan, TimedRun
from foreread.boards.emulated.error import BoardError
from foreread.boards.emulated.machines import MACHINES, machine

__all__ = ["MACHINES", "Board", "BoardError", "BoardRun", "RunPlan", "TimedRun", "machine"]
