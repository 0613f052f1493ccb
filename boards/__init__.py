"""Targets: how to reach them, and their hardware and software."""
