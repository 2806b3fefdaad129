"""The simulator against runs of the real Linux kernel that were recorded: `python -m sojourn.validation`."""
