"""Round-trip times from one side: from a segment to the first acknowledgment that covers it, at the sender.

Only segments that were sent once count, because of others nobody knows which copy was acknowledged (P. Karn and
C. Partridge, "Improving round-trip time estimates in reliable transport protocols", SIGCOMM 1987). A delayed
acknowledgment is part of the time, and so is the repair of a hole in front of the segment. A capture in the middle of
a path sees the part of the round trip that lies behind it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sojourn.base.errors import InputError
from sojourn.pcap.goodput import FLOW, SYN, flow_name

Numbers: TypeAlias = NDArray[np.int64]

SAMPLES = {"time_ns": pl.Int64, "flow": pl.String, "rtt_ns": pl.Int64}
ACK = 16


def sender_rtt(packets: pl.DataFrame) -> pl.DataFrame:
    """RTT samples of every TCP flow of a capture: `time_ns` of the segment, `flow`, `rtt_ns`, in the order of time."""
    table = packets.filter(pl.col("protocol") == "tcp").with_columns(flow=flow_name())
    source, port, destination, other, protocol = FLOW
    back = pl.format("{} {}:{} > {}:{}", protocol, destination, other, source, port)
    answers = table.filter(pl.col("flags") & ACK > 0).with_columns(flow=back).partition_by("flow", as_dict=True)
    parts = []
    for name, sent in table.partition_by("flow", as_dict=True, maintain_order=True).items():
        if name in answers and sent["payload"].sum() > 0:
            parts += [_samples(str(name[0]), *one) for one in _connections(sent, answers[name])]
    if not parts:
        raise InputError("no TCP flow has data and acknowledgments in it; give a capture that has both directions")
    found = pl.concat(parts).sort("time_ns", "flow", maintain_order=True)
    if found.is_empty():
        raise InputError("no segment that was sent once is acknowledged in it; give a longer capture")
    return found


def first_cover(sent: tuple[Numbers, Numbers, Numbers], acks: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
    """Times of segments that were sent once, and from each of them to the first acknowledgment that covers it.

    `sent` has times, first numbers and numbers behind the last byte of the segments, in the order in which they were
    sent; `acks` times and what they acknowledge, in the order in which they came. Sequence numbers do not wrap.
    """
    times, starts, ends = sent
    came, covers = acks
    if not len(times) or not len(came):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    before = np.concatenate(([starts[0]], np.maximum.accumulate(ends)[:-1]))
    is_new = starts >= before
    kept = np.flatnonzero(is_new)
    # New segments are in order and do not overlap, so those of which a part was sent again are neighbours.
    first = np.searchsorted(ends[kept], starts[~is_new], side="right")
    last = np.searchsorted(starts[kept], ends[~is_new], side="left")
    again = np.zeros(len(kept) + 1, np.int64)
    np.add.at(again, first, 1)
    np.add.at(again, np.maximum(first, last), -1)
    once = np.cumsum(again)[:-1] == 0
    times, ends = times[kept][once], ends[kept][once]
    highest = np.maximum.accumulate(covers)
    place = np.searchsorted(highest, ends, side="left")
    answered = place < len(highest)
    delays = came[place[answered]] - times[answered]
    later = delays > 0  # an acknowledgment of data that nobody has sent yet is of another connection
    return times[answered][later], delays[later]


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
    stamps = data["time_ns"].to_numpy()
    end = start + data["payload"].to_numpy().astype(np.int64)
    covers = unwrapped(answers["ack"], base).to_numpy()
    times, delays = first_cover((stamps, start, end), (answers["time_ns"].to_numpy(), covers))
    return pl.DataFrame({"time_ns": times, "flow": [flow] * len(times), "rtt_ns": delays}, schema=SAMPLES)


def unwrapped(numbers: pl.Series, base: int) -> pl.Series:
    """Sequence numbers of 32 bits as distances from `base`, which is near the first of them, without wrapping."""
    values = numbers.to_numpy().astype(np.int64)
    steps = np.diff(values, prepend=base)
    signed = (steps + HALF) % (2 * HALF) - HALF
    return pl.Series(np.cumsum(signed))


HALF = 1 << 31
