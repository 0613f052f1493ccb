"""Studies: the measured accuracy of the models, and gain of the tuner."""
