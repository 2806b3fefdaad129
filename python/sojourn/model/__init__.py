"""What users hold: queue managers, scenarios, results, and statistics of results."""
