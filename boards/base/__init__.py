"""Modules for every package that need no target; boards.error is the only import."""
