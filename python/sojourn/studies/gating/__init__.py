"""Gates for continuous integration: budgets over fixed seeds, and changes against a baseline."""
