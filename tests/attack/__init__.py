"""Fuzzing of the command line: mutated inputs, and runs killed at random times."""
