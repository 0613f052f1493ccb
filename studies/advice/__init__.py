"""What advice is worth: the row that is ranked first against all that a board can have."""
