"""Recorded input: delivery opportunities of a link, packet arrivals at a queue."""
