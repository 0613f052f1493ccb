"""``foreread improve``: the whole way from the check to the boot script."""
