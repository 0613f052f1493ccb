"""Formats of the files that the tracer writes; the analyzer imports no other part of the tracer."""
