"""Measures the cost of a disk's requests with fio, for analyzer.predict.disk.calibration."""
