"""The result of one run: its summary, its tables, and the schema of a stored summary."""
