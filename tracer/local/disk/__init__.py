"""The disk probe: a few hundred reads after a recorded run show what requests of its disk cost."""
