"""Errors of programs on a net."""

from __future__ import annotations


class RunEndedError(RuntimeError):
    """The run of the net has ended, or makes no progress, before the program ends; the text names the waiting lines."""
