"""Goodput over time of the flows in a capture."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from sojourn.base.errors import InputError

FLOW = ("source", "source_port", "destination", "destination_port", "protocol")
STEP_NS = 5 * 10**9
ALL = "all"


def goodput(packets: pl.DataFrame, step_ns: int = STEP_NS) -> pl.DataFrame:
    """Payload seen for the first time, per step and flow, and in total (`flow` "all").

    Steps start at the capture's first packet; the last step may extend beyond its end. TCP bytes count unless they were
    seen before, or precede the SYN; UDP bytes always count. Raises `InputError` for too many rows.
    """
    table = packets.with_columns(flow=flow_name(), new=pl.Series(new_bytes(packets), dtype=pl.Int64))
    first, last = int(packets["time_ns"].min()), int(packets["time_ns"].max())  # type: ignore[arg-type]
    _check_size(packets, step_ns, (last - first) // step_ns + 1)
    step = ((pl.col("time_ns") - first) // step_ns).alias("step")
    table = table.with_columns(step).filter(pl.col("new") > 0)
    flows = table.group_by("flow").agg(pl.col("time_ns").min()).sort("time_ns", "flow")["flow"]
    steps = pl.DataFrame({"step": range((last - first) // step_ns + 1)}, schema={"step": pl.Int64})
    both = pl.concat([table, table.with_columns(flow=pl.lit(ALL))])
    sums = both.group_by("step", "flow").agg(bytes=pl.col("new").sum())
    grid = steps.join(pl.DataFrame({"flow": [ALL, *flows]}), how="cross")
    filled = grid.join(sums, on=["step", "flow"], how="left", maintain_order="left")
    count, seconds = pl.col("bytes").fill_null(0), step_ns / 1e9
    return filled.select(time_s=pl.col("step") * seconds, flow="flow", bytes=count, goodput_bps=count * 8 / seconds)


def _check_size(packets: pl.DataFrame, step_ns: int, steps: int) -> None:
    """Refuse tables of more than `MAX_ROWS`, due to narrow steps or a clock that was set during the capture."""
    rows = steps * (packets.select(*FLOW).n_unique() + 1)
    if rows <= MAX_ROWS:
        return
    pause = packets["time_ns"].diff().abs()
    place = int(pause.arg_max() or 0)
    longest_ns = int(pause[place] or 0)
    width = f"steps of {step_ns / 1e9:g} s make {rows} rows, more than {MAX_ROWS}"
    if longest_ns > step_ns * (steps // 2) and longest_ns > CLOCK_STEP_NS:
        raise InputError(
            f"between its packets {place} and {place + 1} is a gap of {longest_ns / 1e9:.0f} s, as if the clock was "
            f"set there ({width}); cut the capture there or give wider steps"
        )
    raise InputError(f"{width}; give wider ones")


def flow_name() -> pl.Expr:
    """Expression for the name of a packet's flow, e.g. "tcp 10.0.0.1:10000 > 10.0.0.2:5001"."""
    source, port, destination, other, protocol = FLOW
    return pl.format("{} {}:{} > {}:{}", protocol, source, port, destination, other)


@dataclass
class _SeenRanges:
    """Seen sequence space of a TCP flow: everything from `low` to `high` except the holes."""

    first: int
    """Sequence number of the first byte, which identifies the connection."""
    high: int
    low: int | None = None
    """Lowest sequence number seen, in a capture that begins within the connection, perhaps out of order."""
    holes: list[tuple[int, int]] = field(default_factory=list)

    def add(self, seq: int, payload: int) -> int:
        """Add a segment and return its bytes that were not seen before; `seq` is the header's 32-bit number."""
        ahead = (seq - self.high + HALF) % (2 * HALF) - HALF
        start, end = self.high + ahead, self.high + ahead + payload
        new = self._fill(start, end) if ahead < 0 else 0
        if self.low is not None and start < self.low:
            new += min(end, self.low) - start
            if end < self.low:
                self.holes.append((end, self.low))
            self.low = start
        if end > self.high:
            if start > self.high:
                self.holes.append((self.high, start))
            new += end - max(start, self.high)
            self.high = end
        return new

    def _fill(self, start: int, end: int) -> int:
        filled, left = 0, []
        for low, top in self.holes:
            a, b = max(low, start), min(top, end)
            if a >= b:
                left.append((low, top))
                continue
            filled += b - a
            left += [part for part in ((low, a), (b, top)) if part[0] < part[1]]
        self.holes = left
        return filled


def new_bytes(packets: pl.DataFrame) -> list[int]:
    """Payload bytes of each packet that its flow carries for the first time."""
    flows: dict[tuple[object, ...], _SeenRanges] = {}
    found = []
    for *flow, seq, flags, payload in packets.select(*FLOW, "seq", "flags", "payload").iter_rows():
        if flow[4] == "udp":
            found.append(payload)
            continue
        key = tuple(flow)
        first = seq + (flags & SYN > 0)
        ranges = flows.get(key)
        if ranges is None or (flags & SYN and first != ranges.first):  # a new flow, or reused ports
            ranges = flows[key] = _SeenRanges(first, first, None if flags & SYN else first)
        found.append(ranges.add(first, payload) if payload else 0)
    return found


MAX_ROWS = 500_000
"""Maximum rows of the table, one per step and flow."""
CLOCK_STEP_NS = 3600 * 10**9
SYN = 2
HALF = 1 << 31
