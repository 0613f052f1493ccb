"""What tuning brings, and which engine finds it in the fewest runs."""
