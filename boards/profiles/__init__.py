"""Board profiles as data: what boards.profile reads."""
