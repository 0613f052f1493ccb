"""Measures what requests of a disk cost, with fio; what they tell is
analyzer.predict.disk.calibration's."""
