"""Queue managers in Python: those of the registry, a user's own, and a queue to try them by hand."""
