"""Analysis of results that are shown together: statistics, pairs, names, swept parameters."""
