"""Comparison of the simulator with recorded runs of the real Linux kernel: `python -m sojourn.validation`."""
