"""The kernel's own readahead, version by version."""
