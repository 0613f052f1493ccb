"""Chooses the window, by predicted seconds or by the published criterion."""
