"""Models of disks: the time that a device takes to serve requests."""
