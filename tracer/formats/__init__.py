"""Formats of the files that the tracer writes, and all that the analyzer imports of it."""
