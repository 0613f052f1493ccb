"""What changed between two recordings of a start, and why."""
