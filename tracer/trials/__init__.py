"""What a trial is, its outcome, and sweeps of trials, on this machine and on targets."""
