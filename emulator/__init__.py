"""Computes what readahead would have read: arrays in, arrays out."""
