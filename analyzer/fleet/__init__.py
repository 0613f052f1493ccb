"""Thousands of captures: analysed on many workers, stored, and reported by board and start."""
