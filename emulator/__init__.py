"""Emulates readahead, and counts its reads: arrays in, arrays out."""

from foreread.emulator.fixed import MAX_WINDOW, EmulationError, FixedWindow, fixed_window

__all__ = ["MAX_WINDOW", "EmulationError", "FixedWindow", "fixed_window"]
