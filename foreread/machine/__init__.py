"""What a machine is and reads now: its windows, its files, its disk's cost."""
