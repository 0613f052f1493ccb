"""The gain of tuning, and the engine that finds it in the fewest runs."""
