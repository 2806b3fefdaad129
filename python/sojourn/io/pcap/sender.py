"""One-sided RTT at the sender: from a segment to the ACK that its arrival triggered.

The segment that arrived last triggers an ACK: the one with the last newly acknowledged byte or, for out-of-order data,
the one with the highest newly SACKed byte (RFC 2018). Earlier segments had to wait for it at the receiver and give no
sample. Retransmitted segments are excluded, because it is unknown which copy was acknowledged (P. Karn and C.
Partridge, "Improving round-trip time estimates in reliable transport protocols", SIGCOMM 1987), and so are ACKs that
fill a hole, since the data after it had arrived before.

A receiver acknowledges at once more than one segment, out-of-order data, and every segment in quickack mode; otherwise
it delays the ACK for at least 40 ms. A sample may include this delay (`delayed`) if the ACK covers at most one in-order
segment and no other segment followed within 25 ms, or if it carries data, i.e. an application's response. A capture in
the middle of a path sees only the part of the round trip beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sojourn.base.errors import InputError
from sojourn.io.pcap.goodput import FLOW, SYN, flow_name

Numbers: TypeAlias = NDArray[np.int64]

SAMPLES = {"time_ns": pl.Int64, "flow": pl.String, "rtt_ns": pl.Int64, "delayed": pl.Boolean}
ACK = 16
FOLLOWED_NS = 25_000_000
"""Maximum gap to the next segment that rules out a delayed ACK.

Linux's minimum ACK delay is 40 ms (`TCP_DELACK_MIN`); the difference allows for spacing by a bottleneck.
"""
MSS = 1460
"""Maximum payload of a segment in an Ethernet frame; larger ones are super-packets."""


def sender_rtt(packets: pl.DataFrame, blocks: pl.DataFrame | None = None) -> pl.DataFrame:
    """RTT samples of all TCP flows of a capture: `time_ns` of the segment, `flow`, `rtt_ns`, `delayed`.

    They are in order of time. `blocks` has the SACK blocks by `row` of `packets`, as `Capture.blocks`; without them
    there are no samples of segments after a hole. `without_delayed_acks` removes samples that may include a delayed
    ACK. Raises `InputError` if there are none.
    """
    rows = pl.int_range(pl.len(), dtype=pl.Int64).alias("row")
    table = packets.with_columns(rows, flow=flow_name()).filter(pl.col("protocol") == "tcp")
    source, port, destination, other, protocol = FLOW
    back = pl.format("{} {}:{} > {}:{}", protocol, destination, other, source, port)
    acks_back = table.filter(pl.col("flags") & ACK > 0).with_columns(flow=back)
    if blocks is not None and blocks.height:
        # The first block is that of the segment that has just arrived (RFC 2018 §4).
        first_blocks = blocks.select(pl.col("row").cast(pl.Int64), top=pl.col("end")).unique("row", keep="first")
        acks_back = acks_back.join(first_blocks, on="row", how="left", maintain_order="left")
    else:
        acks_back = acks_back.with_columns(top=pl.lit(None, dtype=pl.UInt32))
    by_flow = acks_back.partition_by("flow", as_dict=True, maintain_order=True)
    parts = []
    for name, sent in table.partition_by("flow", as_dict=True, maintain_order=True).items():
        if name in by_flow and sent["payload"].sum() > 0:
            parts += [_samples(str(name[0]), *one) for one in _connections(sent, by_flow[name])]
    if not parts:
        raise InputError("no TCP flow has data and acknowledgments in it; give a capture that has both directions")
    found = pl.concat(parts).sort("time_ns", "flow", maintain_order=True)
    if found.is_empty():
        raise InputError("no segment that was sent once is acknowledged in it; give a longer capture")
    return found


def without_delayed_acks(samples: pl.DataFrame) -> pl.DataFrame:
    """Remove samples that may include a delayed ACK, except for flows that have no others."""
    return samples.filter(~pl.col("delayed") | pl.col("delayed").all().over("flow"))


@dataclass(frozen=True)
class Acks:
    """ACKs in order of arrival."""

    times: Numbers
    covers: Numbers
    """Cumulative ACK numbers."""
    tops: Numbers
    """Right edges of the first SACK blocks; `NO_SACK` if there is none."""
    has_data: NDArray[np.bool_]
    """Whether the ACK carries data."""


def triggered_acks(sent: tuple[Numbers, Numbers, Numbers], acks: Acks) -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
    """Times of segments, delays to the ACKs that they triggered, and whether these may be delayed ACKs.

    `sent` has times, first sequence numbers and end sequence numbers of the segments in sending order. Sequence numbers
    do not wrap.
    """
    segments = _Segments.of(*sent)
    arrivals, covers, tops = acks.times, acks.covers, acks.tops
    if not len(segments.times) or not len(arrivals):
        return np.empty(0, np.int64), np.empty(0, np.int64), np.zeros(0, bool)
    known = np.maximum(np.maximum.accumulate(covers), np.maximum.accumulate(tops))
    start = min(int(segments.starts[0]), int(known[0]))
    una = np.concatenate(([start], np.maximum.accumulate(covers)[:-1]))
    known = np.concatenate(([start], known[:-1]))
    in_order = covers > known
    jumps = tops > np.maximum(known, covers)
    ends_before = np.where(jumps, tops, covers)
    place, exists = segments.index_before(ends_before)
    retransmitted = np.concatenate(([0], np.cumsum(segments.retransmitted)))
    first = np.minimum(np.searchsorted(segments.ends, una, side="right"), place)
    clean = np.where(jumps, ~segments.retransmitted[place], retransmitted[place + 1] == retransmitted[first])
    delays = arrivals - segments.times[place]
    # An ACK of data that was not yet sent belongs to another connection.
    kept = exists & (in_order | jumps) & clean & (delays > 0)
    following = np.append(segments.times[1:], np.iinfo(np.int64).max)[place]
    payloads = segments.ends - segments.starts
    segment = int(payloads[payloads <= MSS].max(initial=0)) or MSS
    is_single = in_order & ~jumps & (covers - una <= segment)
    delayed = is_single & ((following - segments.times[place] > FOLLOWED_NS) | acks.has_data)
    return segments.times[place][kept], delays[kept], delayed[kept]


def _connections(sent: pl.DataFrame, acks_back: pl.DataFrame) -> list[tuple[pl.DataFrame, pl.DataFrame]]:
    """Both directions of each connection over the same ports; a SYN with another sequence number starts one."""
    syns = sent.filter(pl.col("flags") & SYN > 0).filter(pl.col("seq") != pl.col("seq").shift(1))
    begins = syns["time_ns"].to_list()
    edges = [None, *begins[1:], None]
    parts = []
    for low, high in pairwise(edges):
        directions = [
            table.filter(
                pl.lit(value=True) if low is None else pl.col("time_ns") >= low,
                pl.lit(value=True) if high is None else pl.col("time_ns") < high,
            )
            for table in (sent, acks_back)
        ]
        if directions[0].height and directions[1].height:
            parts.append((directions[0], directions[1]))
    return parts


def _samples(flow: str, sent: pl.DataFrame, acks_back: pl.DataFrame) -> pl.DataFrame:
    base = int(sent["seq"][0])
    data = sent.with_columns(start=unwrap(sent["seq"], base)).filter(pl.col("payload") > 0)
    start = data["start"].to_numpy() + (data["flags"].to_numpy() & SYN > 0)
    ends = start + data["payload"].to_numpy().astype(np.int64)
    covers = unwrap(acks_back["ack"], base).to_numpy()
    tops = np.where(
        acks_back["top"].is_null().to_numpy(),
        NO_SACK,
        _unwrap_near(acks_back["top"].fill_null(0).to_numpy(), covers, base),
    )
    acks = Acks(acks_back["time_ns"].to_numpy(), covers, tops, acks_back["payload"].to_numpy() > 0)
    times, delays, delayed = triggered_acks((data["time_ns"].to_numpy(), start, ends), acks)
    columns = {"time_ns": times, "flow": [flow] * len(times), "rtt_ns": delays, "delayed": delayed}
    return pl.DataFrame(columns, schema=SAMPLES)


@dataclass(frozen=True)
class _Segments:
    """First transmissions of segments, in order."""

    times: Numbers
    starts: Numbers
    ends: Numbers
    retransmitted: NDArray[np.bool_]
    """Whether a part of the segment was retransmitted."""

    @classmethod
    def of(cls, times: Numbers, starts: Numbers, ends: Numbers) -> _Segments:
        """Find the first transmissions among segments in sending order, and those that were retransmitted."""
        if not len(times):
            return cls(times, starts, ends, np.zeros(0, bool))
        before = np.concatenate(([starts[0]], np.maximum.accumulate(ends)[:-1]))
        is_new = starts >= before
        kept = np.flatnonzero(is_new)
        # First transmissions are in order and disjoint, so a retransmission covers a contiguous range of them.
        first = np.searchsorted(ends[kept], starts[~is_new], side="right")
        last = np.searchsorted(starts[kept], ends[~is_new], side="left")
        counts = np.zeros(len(kept) + 1, np.int64)
        np.add.at(counts, first, 1)
        np.add.at(counts, np.maximum(first, last), -1)
        return cls(times[kept], starts[kept], ends[kept], np.cumsum(counts)[:-1] > 0)

    def index_before(self, ends_before: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
        """Index of the segment that contains the byte before each sequence number, and whether there is one."""
        place = np.searchsorted(self.ends, ends_before, side="left")
        exists = place < len(self.ends)
        place = np.minimum(place, len(self.ends) - 1)
        return place, exists & (self.starts[place] < ends_before)


def _unwrap_near(numbers: Numbers, covers: Numbers, base: int) -> Numbers:
    """Unwrap sequence numbers, as offsets from `base`, that lie near the unwrapped numbers `covers`."""
    wrapped = numbers.astype(np.int64) - base - covers
    return covers + (wrapped + HALF) % (2 * HALF) - HALF


NO_SACK = np.iinfo(np.int64).min // 2


def unwrap(numbers: pl.Series, base: int) -> pl.Series:
    """Unwrap 32-bit sequence numbers to offsets from `base`, which must be near the first."""
    values = numbers.to_numpy().astype(np.int64)
    steps = np.diff(values, prepend=base)
    signed = (steps + HALF) % (2 * HALF) - HALF
    return pl.Series(np.cumsum(signed))


HALF = 1 << 31
