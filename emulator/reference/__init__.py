"""Slow, readable references of models, for tests alone."""
