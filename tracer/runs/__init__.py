"""What a run and its recording are, on this machine and on targets."""
