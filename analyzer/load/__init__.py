"""What else reads and writes while an application starts, and the start beside it."""
