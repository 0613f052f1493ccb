"""Capture back-ends: tracefs, trace-cmd and perf."""
