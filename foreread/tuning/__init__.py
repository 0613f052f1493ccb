"""Tuning: a campaign of measured runs, on one board or on several."""
