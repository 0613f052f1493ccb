"""Several boards at the same time, each in a process of its own."""
