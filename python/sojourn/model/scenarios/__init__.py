"""Scenarios, and advice on settings without effect."""
