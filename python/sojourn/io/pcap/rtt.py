"""Synthetic packet pairs (SPP): RTT between two points from a capture at each.

S. Zander and G. Armitage, "Minimally-intrusive frequent round trip time measurements using synthetic packet-pairs", LCN
2013. A packet from A to B and the flow's next packet back form a pair; the time between them at B is subtracted from
that at A, so the clocks need not be synchronised. N. Khademi et al. 2013 (section 3) measured with this tool.
"""

from __future__ import annotations

import polars as pl

from sojourn.base.errors import InputError
from sojourn.io.pcap.goodput import flow_name


def rtt(at_a: pl.DataFrame, at_b: pl.DataFrame) -> pl.DataFrame:
    """RTT samples between A and B: `rtt_ns`, with `flow` of the pair's first packet and its `time_ns` at A.

    Each packet is in at most one pair: a returning packet pairs with the flow's last packet that had reached B by then.
    Packets seen at one point only, e.g. because they were lost, are skipped. Raises `InputError` if no packet is in
    both captures, or if no flow has both directions.
    """
    both = _matched(at_a, at_b)
    if both.is_empty():
        raise InputError("no packet is in both captures; give two captures of the same traffic at different points")
    out, back = _directions(both)
    pairs = back.sort("b_ns", "number").join_asof(
        out.sort("b_ns", "number"),
        on="b_ns",
        by="ends",
        strategy="backward",
        suffix="_out",
        coalesce=False,
        check_sortedness=False,
    )
    pairs = pairs.drop_nulls("b_ns_out").sort("b_ns", "number").unique("number_out", keep="first")
    samples = pairs.select(
        time_ns="a_ns_out",
        flow="flow_out",
        rtt_ns=(pl.col("a_ns") - pl.col("a_ns_out")) - (pl.col("b_ns") - pl.col("b_ns_out")),
    )
    if samples.is_empty():
        raise InputError(
            "no flow goes both ways between the captures; SPP needs two points and packets in both directions"
        )
    return samples.sort("time_ns", "flow", "rtt_ns")


def summarise(samples: pl.DataFrame) -> pl.DataFrame:
    """Count and distribution of the RTT in ms, for all flows together and for each in order of appearance."""
    ms = pl.col("rtt_ns") / 1e6
    quantiles = {f"p{round(100 * q)}": ms.quantile(q, "nearest") for q in (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)}
    measures = {"samples": pl.len(), "min": ms.min(), "mean": ms.mean(), **quantiles, "max": ms.max()}
    every = samples.select(flow=pl.lit("all"), **measures)
    return pl.concat([every, samples.group_by("flow", maintain_order=True).agg(**measures)])


def _matched(at_a: pl.DataFrame, at_b: pl.DataFrame) -> pl.DataFrame:
    """Packets that passed both points, with the times `a_ns` and `b_ns`.

    Identical packets are matched in order if both points saw the same number of them; otherwise one was lost, and they
    are skipped, since it is unknown which.
    """
    kept = [
        table.with_columns(place=pl.int_range(pl.len()).over(_IDENTITY), same=pl.len().over(_IDENTITY))
        for table in (at_a, at_b)
    ]
    keys = [*_IDENTITY, "place", "same"]
    near, far = (
        table.select(*keys, pl.col("time_ns").alias(name)) for table, name in zip(kept, ("a_ns", "b_ns"), strict=True)
    )
    return (
        near.join(far, on=keys, how="inner", maintain_order="left")
        .with_columns(flow=flow_name())
        .with_row_index("number")
    )


def _directions(both: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Packets from A to B and from B to A.

    A flow's direction from A to B is the one with the larger time difference from A to B; the clocks' offset is in
    both.
    """
    source, destination = (
        pl.format("{}:{}", "source", "source_port"),
        pl.format("{}:{}", "destination", "destination_port"),
    )
    ahead = (pl.col("b_ns") - pl.col("a_ns")).median().over("flow")
    both = both.with_columns(
        ends=pl.concat_str(pl.min_horizontal(source, destination), pl.max_horizontal(source, destination), "protocol"),
        ahead=ahead,
    )
    two_way = both.filter(pl.col("flow").n_unique().over("ends") == 2)
    outward = pl.col("ahead") == pl.col("ahead").max().over("ends")
    return two_way.filter(outward), two_way.filter(~outward)


_IDENTITY = [
    "source",
    "source_port",
    "destination",
    "destination_port",
    "protocol",
    "identification",
    "seq",
    "ack",
    "flags",
    "payload",
]
"""Fields that do not change along the path."""
