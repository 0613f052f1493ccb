"""Suites: many starts on many boards, and one answer for each disk."""
