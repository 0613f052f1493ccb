"""What every package uses and no target is needed for; boards.error is all it imports."""
