"""Recordings and trials on this machine."""
