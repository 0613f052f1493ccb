"""The disk's model: from a profile, a calibration, a probe, or the capture's requests."""
