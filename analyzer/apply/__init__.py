"""The boot script that applies the chosen window, and its wrappers."""
