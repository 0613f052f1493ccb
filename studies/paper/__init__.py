"""The experiments of the 2010 paper, repeated on emulated boards."""
