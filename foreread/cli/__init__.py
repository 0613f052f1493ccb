"""The command line: parses arguments, calls the packages, prints."""
