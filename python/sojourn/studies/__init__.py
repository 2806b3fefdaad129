"""Studies of many runs: sweeps, comparisons of queue managers, packet-by-packet differences."""
