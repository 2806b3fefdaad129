"""Round-trip times from one side: from a segment to the acknowledgment that its arrival caused, at the sender.

An acknowledgment is caused by the segment that came last: the one with the last byte that it newly acknowledges, or, of
out-of-order data, the one with the highest byte that it newly reports by SACK (RFC 2018). Segments before it waited for
it at the receiver, so they tell nothing. Segments of which a part was sent again do not count, because nobody knows
which copy was acknowledged (P. Karn and C. Partridge, "Improving round-trip time estimates in reliable transport
protocols", SIGCOMM 1987), nor does an acknowledgment that fills a hole: what it covers had come before.

A receiver acknowledges at once what is more than a segment, what is out of order, and, while it is in a hurry, each
segment; else it waits for another segment, 40 ms or more. A sample may have that wait in it (`delayed`) if the
acknowledgment covers no more than a segment, in order, and no other segment followed within 25 ms, or carries data, as
an answer does that a program had to make first. A capture in the middle of a path sees the part of the round trip that
lies behind it.
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
"""A segment that another one follows within this time is not acknowledged alone by a receiver that waits for more.

The least wait of a receiver (Linux) is 40 ms; the rest is for what a bottleneck puts between the two.
"""
MSS = 1460
"""Most payload of a segment that fits an Ethernet frame; larger ones are super-packets."""


def sender_rtt(packets: pl.DataFrame, blocks: pl.DataFrame | None = None) -> pl.DataFrame:
    """RTT samples of every TCP flow of a capture: `time_ns` of the segment, `flow`, `rtt_ns`, `delayed`.

    They are in the order of time. `blocks` has the blocks of SACK by `row` of `packets`, as `Capture.blocks`; without
    them nothing is known of segments behind a hole. `prompt` leaves those out that may have a delayed acknowledgment.
    """
    rows = pl.int_range(pl.len(), dtype=pl.Int64).alias("row")
    table = packets.with_columns(rows, flow=flow_name()).filter(pl.col("protocol") == "tcp")
    source, port, destination, other, protocol = FLOW
    back = pl.format("{} {}:{} > {}:{}", protocol, destination, other, source, port)
    answers = table.filter(pl.col("flags") & ACK > 0).with_columns(flow=back)
    if blocks is not None and blocks.height:
        # The first block is that of the segment that has just come.
        own = blocks.select(pl.col("row").cast(pl.Int64), top=pl.col("end")).unique("row", keep="first")
        answers = answers.join(own, on="row", how="left", maintain_order="left")
    else:
        answers = answers.with_columns(top=pl.lit(None, dtype=pl.UInt32))
    by_flow = answers.partition_by("flow", as_dict=True, maintain_order=True)
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


def prompt(samples: pl.DataFrame) -> pl.DataFrame:
    """Samples without those that may have a delayed acknowledgment in them, of flows that have others."""
    return samples.filter(~pl.col("delayed") | pl.col("delayed").all().over("flow"))


@dataclass(frozen=True)
class Acks:
    """Acknowledgments in the order in which they came."""

    times: Numbers
    covers: Numbers
    """Numbers behind the last byte that each acknowledges."""
    tops: Numbers
    """Numbers behind the first block of SACK; `LOWEST` where there is none."""
    carries: NDArray[np.bool_]
    """Whether it carries data."""


def caused(sent: tuple[Numbers, Numbers, Numbers], acks: Acks) -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
    """Times of segments, times to the acknowledgments that they caused, and whether these may have been delayed.

    `sent` has times, first numbers and numbers behind the last byte of the segments, in the order in which they were
    sent. Sequence numbers do not wrap.
    """
    segments = _Segments.of(*sent)
    came, covers, tops = acks.times, acks.covers, acks.tops
    if not len(segments.times) or not len(came):
        return np.empty(0, np.int64), np.empty(0, np.int64), np.zeros(0, bool)
    known = np.maximum(np.maximum.accumulate(covers), np.maximum.accumulate(tops))
    start = min(int(segments.starts[0]), int(known[0]))
    una = np.concatenate(([start], np.maximum.accumulate(covers)[:-1]))
    known = np.concatenate(([start], known[:-1]))
    in_order = covers > known
    jumps = tops > np.maximum(known, covers)
    behind = np.where(jumps, tops, covers)
    place, there = segments.holding(behind)
    sent_again = np.concatenate(([0], np.cumsum(segments.again)))
    first = np.minimum(np.searchsorted(segments.ends, una, side="right"), place)
    clean = np.where(jumps, ~segments.again[place], sent_again[place + 1] == sent_again[first])
    delays = came - segments.times[place]
    # An acknowledgment of data that nobody has sent yet is of another connection.
    kept = there & (in_order | jumps) & clean & (delays > 0)
    following = np.append(segments.times[1:], np.iinfo(np.int64).max)[place]
    payloads = segments.ends - segments.starts
    whole = int(payloads[payloads <= MSS].max(initial=0)) or MSS
    alone = in_order & ~jumps & (covers - una <= whole)
    delayed = alone & ((following - segments.times[place] > FOLLOWED_NS) | acks.carries)
    return segments.times[place][kept], delays[kept], delayed[kept]


def _connections(sent: pl.DataFrame, answers: pl.DataFrame) -> list[tuple[pl.DataFrame, pl.DataFrame]]:
    """Both directions of each connection over the same ports: a SYN with another number begins one."""
    syns = sent.filter(pl.col("flags") & SYN > 0).filter(pl.col("seq") != pl.col("seq").shift(1))
    begins = syns["time_ns"].to_list()
    edges = [None, *begins[1:], None]
    parts = []
    for low, high in pairwise(edges):
        own = [
            table.filter(
                pl.lit(value=True) if low is None else pl.col("time_ns") >= low,
                pl.lit(value=True) if high is None else pl.col("time_ns") < high,
            )
            for table in (sent, answers)
        ]
        if own[0].height and own[1].height:
            parts.append((own[0], own[1]))
    return parts


def _samples(flow: str, sent: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    base = int(sent["seq"][0])
    data = sent.with_columns(start=unwrapped(sent["seq"], base)).filter(pl.col("payload") > 0)
    start = data["start"].to_numpy() + (data["flags"].to_numpy() & SYN > 0)
    ends = start + data["payload"].to_numpy().astype(np.int64)
    covers = unwrapped(answers["ack"], base).to_numpy()
    tops = np.where(
        answers["top"].is_null().to_numpy(), LOWEST, _near(answers["top"].fill_null(0).to_numpy(), covers, base)
    )
    acks = Acks(answers["time_ns"].to_numpy(), covers, tops, answers["payload"].to_numpy() > 0)
    times, delays, delayed = caused((data["time_ns"].to_numpy(), start, ends), acks)
    columns = {"time_ns": times, "flow": [flow] * len(times), "rtt_ns": delays, "delayed": delayed}
    return pl.DataFrame(columns, schema=SAMPLES)


@dataclass(frozen=True)
class _Segments:
    """Segments as they were sent first: in order, without gaps in time."""

    times: Numbers
    starts: Numbers
    ends: Numbers
    again: NDArray[np.bool_]
    """Whether a part of it was sent again."""

    @classmethod
    def of(cls, times: Numbers, starts: Numbers, ends: Numbers) -> _Segments:
        """Sort out which of the segments in the order of sending are new, and which of these were sent again."""
        if not len(times):
            return cls(times, starts, ends, np.zeros(0, bool))
        before = np.concatenate(([starts[0]], np.maximum.accumulate(ends)[:-1]))
        is_new = starts >= before
        kept = np.flatnonzero(is_new)
        # New segments are in order and do not overlap, so those of which a part was sent again are neighbours.
        first = np.searchsorted(ends[kept], starts[~is_new], side="right")
        last = np.searchsorted(starts[kept], ends[~is_new], side="left")
        counts = np.zeros(len(kept) + 1, np.int64)
        np.add.at(counts, first, 1)
        np.add.at(counts, np.maximum(first, last), -1)
        return cls(times[kept], starts[kept], ends[kept], np.cumsum(counts)[:-1] > 0)

    def holding(self, behind: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
        """Place of the segment with the byte in front of each number, and whether there is one."""
        place = np.searchsorted(self.ends, behind, side="left")
        there = place < len(self.ends)
        place = np.minimum(place, len(self.ends) - 1)
        return place, there & (self.starts[place] < behind)


def _near(numbers: Numbers, covers: Numbers, base: int) -> Numbers:
    """Distances from `base` of sequence numbers that lie near others of which that is known."""
    wrapped = numbers.astype(np.int64) - base - covers
    return covers + (wrapped + HALF) % (2 * HALF) - HALF


LOWEST = np.iinfo(np.int64).min // 2


def unwrapped(numbers: pl.Series, base: int) -> pl.Series:
    """Sequence numbers of 32 bits as distances from `base`, which is near the first of them, without wrapping."""
    values = numbers.to_numpy().astype(np.int64)
    steps = np.diff(values, prepend=base)
    signed = (steps + HALF) % (2 * HALF) - HALF
    return pl.Series(np.cumsum(signed))


HALF = 1 << 31
