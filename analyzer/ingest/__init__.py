"""Readers: a trace in, tables of events, accesses, requests and files out."""
