"""Models of disks: how long a device takes to serve requests."""
