"""The disk probe: a few hundred reads after a recorded run show the cost of its disk's requests."""
