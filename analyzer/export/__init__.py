"""A recorded start, and emulated runs of it, for viewers and tables of other tools."""
