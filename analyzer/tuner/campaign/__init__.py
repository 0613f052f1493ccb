"""A campaign runs an engine against a machine and stores every run."""
