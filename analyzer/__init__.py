"""Reads captures, finds the best readahead window, reports it and writes the boot script."""
