"""Measuring a recorded start: cold runs at every window, and pairs of two settings."""
