"""A network for the tests of transport stacks: real queue managers and competing traffic between your programs.

`Net` is the world: a scenario whose flows of `kind = "endpoint"` are yours. Take its events one by one, or let
`run(main(), net)` run asyncio programs in its time. How: docs/net_python.md.
"""

from __future__ import annotations

from sojourn._core import End, Event, Report, Verdict
from sojourn.apps.net.clock import nanoseconds
from sojourn.apps.net.errors import RunEndedError
from sojourn.apps.net.loop import NetLoop
from sojourn.apps.net.network import Net, chosen_seeds
from sojourn.apps.net.running import run
from sojourn.apps.net.sockets import at

__all__ = [
    "End",
    "Event",
    "Net",
    "NetLoop",
    "Report",
    "RunEndedError",
    "Verdict",
    "at",
    "chosen_seeds",
    "nanoseconds",
    "run",
]
