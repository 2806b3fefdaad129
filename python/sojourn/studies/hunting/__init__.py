"""`sojourn hunt`: searches a space of scenarios for one that satisfies a condition on queue managers."""
