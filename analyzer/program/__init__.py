"""Converts a capture into the application's operations, the input of the readahead emulation."""
