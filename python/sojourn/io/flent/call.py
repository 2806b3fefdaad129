"""A call as Flent's VoIP tests see it: one-way delay, jitter, loss and rate of the packets of a group of flows."""

from __future__ import annotations

import numpy as np
import polars as pl

from sojourn.base.errors import InputError
from sojourn.base.units import bits_per_second
from sojourn.io.flent.files import Array
from sojourn.model.analysis.packets import dropped
from sojourn.model.results.result import Result

RATE, DELAY, JITTER, LOSS = "VoIP::bitrate", "VoIP::delay", "VoIP::jitter", "VoIP::loss"
CALL_UNITS = {RATE: "Kbits/s", DELAY: "ms", JITTER: "ms", LOSS: "count", "VoIP::induced_delay": "ms"}
"""Units of the series, in Flent's spelling."""


def call(result: Result, group: int, step_s: float) -> dict[str, tuple[Array, Array]]:
    """Times in s and values of the series of a call, by name; the run needs `probes.packets`.

    Of each packet that came: delay is half of the base round-trip time, the time in the queue and, on a link of one
    rate, that of its transmission; jitter is the difference to the delay of the packet before. Rate and the number of
    packets that were lost are those of each step.
    """
    flow = next(int(one["id"]) for one in result.totals["flows"] if int(one["group"]) == group)
    rate = result.scenario.links["reverse"].get("rate", "")
    per_byte_s = 8 / bits_per_second(rate) if rate and "@" not in rate else 0.0
    base_s = result.scenario.base_rtt_s(group) / 2
    own = result.packets.filter((pl.col("link") == "reverse") & (pl.col("flow") == flow))
    waited_s = pl.col("sojourn_ms") / 1e3
    table = own.select(
        "bytes",
        sent_s=pl.col("time_s") - waited_s,
        delay_s=waited_s + per_byte_s * pl.col("bytes") + base_s,
        lost=dropped(),
    )
    came = table.filter(~pl.col("lost")).sort("sent_s")
    if came.is_empty():
        raise InputError(f"{result.folder or result}: no packet of its call came; give a longer duration")
    delay_ms = 1e3 * came["delay_s"].to_numpy()
    arrived_s = came["sent_s"].to_numpy() + delay_ms / 1e3
    edges = np.array([step_s * at for at in range(round(result.duration_s / step_s) + 1)])
    bits, _ = np.histogram(arrived_s, bins=edges, weights=8e-3 * came["bytes"].to_numpy())
    lost, _ = np.histogram(table.filter("lost")["sent_s"].to_numpy(), bins=edges)
    jitter_ms = np.abs(np.diff(delay_ms))
    return {
        RATE: (edges[1:], bits / step_s),
        DELAY: (arrived_s, delay_ms),
        JITTER: (arrived_s[1:], jitter_ms),
        LOSS: (edges[1:], lost.astype(float)),
    }
