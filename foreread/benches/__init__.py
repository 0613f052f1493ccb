"""Machines on which trials are made; several boards at once, each in a process of its own."""
