"""Scenarios: what is run, and advice on set-ups that cannot have an effect."""
