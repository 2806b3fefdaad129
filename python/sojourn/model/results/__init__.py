"""The result of one run: its summary, its tables, and what a stored summary must look like."""
