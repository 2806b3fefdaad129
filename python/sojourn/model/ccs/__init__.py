"""Congestion controls of users."""
