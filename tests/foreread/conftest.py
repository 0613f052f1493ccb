"""What every test of the command line has."""

from json_outputs import checked_documents  # noqa: F401  (an autouse fixture)
