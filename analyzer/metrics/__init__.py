"""The numbers of predictions, comparisons and sweeps for the tools that keep numbers."""
