"""Board profiles as data, read by boards.profile."""
