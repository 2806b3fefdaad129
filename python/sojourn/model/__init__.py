"""The user-facing model: queue managers, scenarios, results, and statistics of results."""
