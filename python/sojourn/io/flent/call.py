"""A call as in Flent's VoIP tests: one-way delay, jitter, loss and rate of the packets of a flow group."""

from __future__ import annotations

import numpy as np

from sojourn.base.errors import InputError
from sojourn.base.late import pl
from sojourn.base.units import bits_per_second
from sojourn.io.flent.files import Array
from sojourn.model.analysis.packets import dropped
from sojourn.model.results.result import Result

RATE, DELAY, JITTER, LOSS = "VoIP::bitrate", "VoIP::delay", "VoIP::jitter", "VoIP::loss"
CALL_UNITS = {RATE: "Kbits/s", DELAY: "ms", JITTER: "ms", LOSS: "count", "VoIP::induced_delay": "ms"}
"""Units of the series, as Flent writes them."""


def call(result: Result, group: int, step_s: float) -> dict[str, tuple[Array, Array]]:
    """Times in s and values of the series of a call, by name; the run needs `probes.packets`.

    Per delivered packet: the delay is half of the base RTT, the sojourn time and, on a link of constant rate, the
    transmission time; the jitter is the difference to the previous packet's delay. Per step: the rate and the number of
    lost packets. Raises `InputError` if no packet was delivered.
    """
    flow = next(int(one["id"]) for one in result.totals["flows"] if int(one["group"]) == group)
    rate = result.scenario.links["reverse"].get("rate", "")
    per_byte_s = 8 / bits_per_second(rate) if rate and "@" not in rate else 0.0
    base_s = result.scenario.base_rtt_s(group) / 2
    packets = result.packets.filter((pl.col("link") == "reverse") & (pl.col("flow") == flow))
    sojourn_s = pl.col("sojourn_ms") / 1e3
    table = packets.select(
        "bytes",
        sent_s=pl.col("time_s") - sojourn_s,
        delay_s=sojourn_s + per_byte_s * pl.col("bytes") + base_s,
        lost=dropped(),
    )
    delivered = table.filter(~pl.col("lost")).sort("sent_s")
    if delivered.is_empty():
        raise InputError(f"{result.folder or result}: no packet of its call arrived; give a longer duration")
    delay_ms = 1e3 * delivered["delay_s"].to_numpy()
    arrived_s = delivered["sent_s"].to_numpy() + delay_ms / 1e3
    edges = np.array([step_s * at for at in range(round(result.duration_s / step_s) + 1)])
    bits, _ = np.histogram(arrived_s, bins=edges, weights=8e-3 * delivered["bytes"].to_numpy())
    lost, _ = np.histogram(table.filter("lost")["sent_s"].to_numpy(), bins=edges)
    jitter_ms = np.abs(np.diff(delay_ms))
    return {
        RATE: (edges[1:], bits / step_s),
        DELAY: (arrived_s, delay_ms),
        JITTER: (arrived_s[1:], jitter_ms),
        LOSS: (edges[1:], lost.astype(float)),
    }
