"""Compares the emulated readahead with a kernel's: generated programs, their pages and requests."""
