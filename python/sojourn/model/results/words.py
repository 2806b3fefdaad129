"""Words for the numbers in recorded tables."""

from __future__ import annotations

ECN = ("not-ect", "ect1", "ect0", "ce")
FATES = (
    "sent",
    "marked",
    "dropped: limit",
    "dropped: early",
    "dropped: late",
    "dropped: hard limit",
    "dropped: unknown",
    "dropped: replaced",
)
"""Outcome of a packet at a queue by its number; "unknown" is for logs without a reason."""
FIRST_DROP = FATES.index("dropped: limit")
"""Number of the first outcome that is a drop, as are all after it."""
OUTCOMES = ("acknowledged", "collided", "lost", "acknowledgment lost")
"""Outcome of an attempt to send a frame over a channel, by its number."""
SENDER_STATES = ("open", "disorder", "cwr", "recovery", "loss")
"""State of a sender's congestion avoidance, by its number."""
TIMERS = ("none", "time-out", "early retransmit", "loss probe", "reordering")
"""Timer that a sender armed, or that expired, by its number."""
LOSSES = ("first", "again", "none")
"""Lost original transmission, lost last retransmission, or a spurious loss; by its number."""
SENDER_WORDS = {
    "ecn": ECN,
    "end": ("source", "sink"),
    "state": SENDER_STATES,
    "expired": TIMERS,
    "timer": TIMERS,
    "loss": LOSSES,
}
"""Words of the columns in tables of senders."""
