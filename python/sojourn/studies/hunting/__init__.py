"""`sojourn hunt`: looks in a space of scenarios for one in which a sentence about queue managers is true."""
