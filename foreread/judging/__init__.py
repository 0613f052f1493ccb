"""The emulated readahead compared with a target's kernel."""
