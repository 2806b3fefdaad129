"""An attack on the command line: inputs that were mutated, and runs that are killed at random instants."""
