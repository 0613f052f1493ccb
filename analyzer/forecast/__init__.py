"""What a kernel upgrade does to a recorded start."""
