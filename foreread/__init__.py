"""The command line, and the public API re-exported."""
