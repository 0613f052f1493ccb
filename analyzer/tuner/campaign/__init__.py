"""Campaigns: an engine proposes settings, a machine runs them, and a store keeps every run."""
