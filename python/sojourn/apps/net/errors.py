"""Errors of programs on a net."""

from __future__ import annotations


class RunEndedError(RuntimeError):
    """The run of the net is over, or stands still, and the program still waits; the text names what for."""
