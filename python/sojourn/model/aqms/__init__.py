"""Queue managers in Python: the registry's, users' classes, and a queue to drive them by hand."""
