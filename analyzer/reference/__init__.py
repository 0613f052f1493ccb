"""Slow, readable references of the readers in C, for tests alone."""
