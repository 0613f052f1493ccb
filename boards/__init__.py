"""Which target, how to reach it, what it is made of."""
