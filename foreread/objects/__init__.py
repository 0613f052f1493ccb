"""The objects that ``import foreread`` hands out."""
