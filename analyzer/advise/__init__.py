"""Advice: what else one recorded start shows, each item replayed with the change made."""
