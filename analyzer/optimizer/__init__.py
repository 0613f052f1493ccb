"""Chooses the window: the published criterion, and later predicted seconds."""
