"""The timed replay under many windows."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.device import DeviceModel
from emulator.linux.timed import CpuCost, Run, Timed, timed


def timed_windows(
    run: Run, windows: Sequence[int], device: DeviceModel, cpu: CpuCost | None = None
) -> list[Timed]:
    """Replay a run, recorded at window 0, under each of ``windows`` (pages)."""
    recorded = timed(run, 0, device)
    return [timed(run, window, device, cpu, recorded) if window else recorded for window in windows]
