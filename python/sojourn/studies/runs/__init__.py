"""Doing runs on all cores or many machines, and keeping their results on disk."""
