"""What is put on a board to act at its start: boot script, udev rule, recording hook."""
