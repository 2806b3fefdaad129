"""Data from the tables of TCP senders: flows, time spans, newly SACKed and delivered data, drops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sojourn.base.errors import InputError
from sojourn.model.analysis.packets import dropped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sojourn.model.results.result import Result

Block = tuple[int, int]
"""Half-open range of sequence numbers: first, end."""


def of_flow(table: pl.DataFrame, flow: int) -> pl.DataFrame:
    """Rows of the sender at a flow's source."""
    return table.filter((pl.col("flow") == flow) & (pl.col("end") == "source"))


def chosen_flows(result: Result, wanted: Sequence[int] | None) -> list[int]:
    """The requested flows, or the first one that sent data; raises `InputError` if a flow has no TCP sender."""
    own = result.segments.filter(pl.col("end") == "source")["flow"].unique().sort().to_list()
    if not own:
        raise InputError(f"{result.folder or result}: no TCP sender has sent anything; give a longer duration")
    for flow in wanted or ():
        if flow not in own:
            some = ", ".join(map(str, own[:MAX_NAMED])) + (", …" if len(own) > MAX_NAMED else "")
            raise InputError(f"--flow {flow}: has no TCP sender that has sent anything; expected one of {some}")
    return list(wanted) if wanted else own[:1]


def span_of(
    result: Result, flows: Sequence[int], length_s: float, from_s: float | None, to_s: float | None
) -> tuple[float, float]:
    """Time span in which flows are shown: as requested, or `length_s` in the middle of what they sent."""
    own = result.segments.filter(pl.col("flow").is_in(list(flows)) & (pl.col("end") == "source"))["time_s"].to_numpy()
    first, last = own.min(), min(own.max() + MARGIN_S, result.duration_s)
    start = first if last - first <= length_s else (first + last) / 2
    end = min(start + length_s, last)
    if from_s is not None:
        start, end = from_s, min(from_s + length_s, result.duration_s)
    return start, end if to_s is None else to_s


def sack_blocks(acks: pl.DataFrame) -> list[list[Block]]:
    """SACK blocks of each acknowledgment in header order."""
    columns = [(f"sack{n}_from", f"sack{n}_to") for n in (1, 2, 3)]
    pairs = [list(zip(acks[start], acks[end], strict=True)) for start, end in columns]
    return [[block for block in row if block[1]] for row in zip(*pairs, strict=True)]


def newly_sacked(acks: pl.DataFrame) -> list[list[Block]]:
    """Blocks that each acknowledgment of a sender is the first to SACK, in sequence order."""
    known: list[Block] = []
    found = []
    for ack, blocks in zip(acks["ack"], sack_blocks(acks), strict=True):
        known = [block for block in known if block[1] > ack]
        news: list[Block] = []
        for block in sorted(blocks):
            own = subtract_blocks((max(block[0], ack), block[1]), known)
            news += own
            known = merge_blocks([*known, *own])
        found.append(news)
    return found


def subtract_blocks(block: Block, known: Iterable[Block]) -> list[Block]:
    """Parts of `block` outside the `known` blocks, which are disjoint and sorted."""
    left, (start, end) = [], block
    for since, to in known:
        if since >= end:
            break
        if to <= start:
            continue
        if since > start:
            left.append((start, since))
        start = max(start, to)
    return [*left, (start, end)] if start < end else left


def merge_blocks(blocks: Sequence[Block]) -> list[Block]:
    """Blocks in order, with adjacent and overlapping ones merged."""
    found: list[Block] = []
    for start, end in sorted(blocks):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def delivered(acks: pl.DataFrame) -> NDArray[np.int64]:
    """Bytes delivered as the sender knows them, after each acknowledgment: cumulatively acknowledged or SACKed."""
    above: list[Block] = []
    una, totals = 1, []
    for ack, news in zip(acks["ack"], newly_sacked(acks), strict=True):
        una = max(una, ack)
        above = [(max(start, una), end) for start, end in merge_blocks([*above, *news]) if end > una]
        totals.append(una - 1 + sum(end - start for start, end in above))
    return np.asarray(totals, dtype=np.int64)


def at_queues(result: Result, flow: int) -> pl.DataFrame | None:
    """Data segments of a flow's source that a queue dropped or marked: `time_s`, `seq`, `payload`, `dropped`.

    None unless the run recorded packets with their headers.
    """
    if not {"packets", "headers"} <= set(result.table_names):
        return None
    found = result.packets.filter((pl.col("flow") == flow) & (pl.col("fate") != "sent"))
    own = result.headers.filter((pl.col("to_sink") == 1) & (pl.col("payload") > 0)).select(
        "link", "arrival", "seq", "payload"
    )
    both = found.join(own, on=["link", "arrival"], maintain_order="left")
    return both.select("time_s", "seq", "payload", dropped().alias("dropped"))


MARGIN_S = 1e-3
"""Time shown after the last segment."""
MAX_NAMED = 8
"""Maximum number of flows named in an error."""
