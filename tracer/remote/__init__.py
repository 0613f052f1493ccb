"""Recording on a target that has nothing but a kernel with tracefs, and busybox."""
