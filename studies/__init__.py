"""Studies: what the models and the tuner are worth, measured."""
