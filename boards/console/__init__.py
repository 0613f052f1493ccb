"""A target at the end of a serial console."""
