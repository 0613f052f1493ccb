"""The kernel's readahead in plain Python, one operation after another."""
