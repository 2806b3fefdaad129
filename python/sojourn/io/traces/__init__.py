"""Recorded input: delivery opportunities of a link, arrivals of packets at a queue."""
