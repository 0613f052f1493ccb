"""Boards of a labgrid lab: a place is acquired, used by ssh or its console, and released."""
