"""What is computed from results that are shown together: statistics, pairs, names, swept parameters."""
