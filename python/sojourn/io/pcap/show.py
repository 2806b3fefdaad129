"""Summary of the flows in a capture."""

from __future__ import annotations

import polars as pl

from sojourn.base.errors import InputError
from sojourn.io.pcap.goodput import ALL, flow_name, new_bytes
from sojourn.io.pcap.sender import sender_rtt, without_delayed_acks

CE, NOT_ECT = 3, 0


def flows(packets: pl.DataFrame, blocks: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row per flow in descending order of bytes, after a row of all together (`flow` "all").

    `start_s`, since the capture's first packet, and `duration_s` are those of its packets; `bytes` are of IP;
    `goodput_bps` is payload seen for the first time over the flow's duration, null if that is zero; `repeated` is the
    share of TCP payload that was seen before, i.e. retransmissions if the capture is from the sender. `ect` is the
    share of ECN-capable packets, `ce` the number of marked ones. `rtt_p50_ms` and `rtt_p95_ms` are from a segment to
    the ACK that it triggered, without possibly delayed ACKs, null without samples; `delayed` is the share of samples
    that were excluded. `blocks` are the SACK blocks of a capture.
    """
    table = packets.with_columns(flow=flow_name(), new=pl.Series(new_bytes(packets), dtype=pl.Int64))
    both = pl.concat([table.with_columns(flow=pl.lit(ALL)), table])
    first = int(packets["time_ns"].min())  # type: ignore[arg-type]
    tcp = pl.col("protocol") == "tcp"
    span = (pl.col("time_ns").max() - pl.col("time_ns").min()) / 1e9
    payload = pl.col("payload").cast(pl.Int64).filter(tcp).sum()
    found = both.group_by("flow", maintain_order=True).agg(
        start_s=(pl.col("time_ns").min() - first) / 1e9,
        duration_s=span,
        packets=pl.len(),
        bytes=pl.col("ip_bytes").cast(pl.Int64).sum(),
        goodput_bps=pl.when(span > 0).then(8 * pl.col("new").sum() / span),
        repeated=pl.when(payload > 0).then(1 - pl.col("new").filter(tcp).sum() / payload),
        ect=(pl.col("ecn") != NOT_ECT).mean(),
        ce=(pl.col("ecn") == CE).sum(),
    )
    order = found.with_columns(is_all=pl.col("flow") == ALL)
    found = order.sort("is_all", "bytes", "start_s", "flow", descending=[True, True, False, False]).drop("is_all")
    return found.join(_rtts(packets, blocks), on="flow", how="left", maintain_order="left")


def _rtts(packets: pl.DataFrame, blocks: pl.DataFrame | None) -> pl.DataFrame:
    """Median and 95th percentile of each flow's RTT beyond the capture point."""
    ms = pl.col("rtt_ns") / 1e6
    quantiles = {f"rtt_p{round(100 * q)}_ms": ms.quantile(q, "nearest") for q in (0.5, 0.95)}
    try:
        samples = sender_rtt(packets, blocks)
    except InputError:  # no TCP with both directions, which is no error in a summary
        return pl.DataFrame(schema={"flow": pl.String} | dict.fromkeys([*quantiles, "delayed"], pl.Float64))
    kept = without_delayed_acks(samples)
    of_all = pl.lit(ALL)
    found = pl.concat([kept.with_columns(flow=of_all), kept]).group_by("flow").agg(**quantiles, kept=pl.len())
    counts = pl.concat([samples.with_columns(flow=of_all), samples]).group_by("flow").agg(every=pl.len())
    both = found.join(counts, on="flow")
    return both.with_columns(delayed=1 - pl.col("kept") / pl.col("every")).drop("kept", "every")
