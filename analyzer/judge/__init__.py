"""Judges the emulated readahead by a kernel: generated programs, their pages and requests."""
