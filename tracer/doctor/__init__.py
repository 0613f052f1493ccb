"""What can be recorded on this machine or on a target, and the remedy for each obstacle."""
