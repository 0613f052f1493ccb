"""Text that several commands print."""
