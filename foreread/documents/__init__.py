"""What the commands print with ``--json``, where no other package declares it."""
