"""Runs on all cores or many machines, and storage of their results."""
