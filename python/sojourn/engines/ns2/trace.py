"""Events of ns-2's trace at the bottlenecks' queues, and the packets that left the last queue of each flow.

A line is `EVENT TIME FROM TO TYPE SIZE FLAGS FLOW SOURCE DESTINATION SEQ ID`, with the time rounded to microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.base.errors import MissingError

if TYPE_CHECKING:
    import numpy.typing as npt

SCHEMA = {
    "kind": pl.String,
    "time": pl.Float64,
    "near": pl.Int32,
    "far": pl.Int32,
    "type": pl.String,
    "bytes": pl.UInt32,
    "flags": pl.String,
    "flow": pl.UInt32,
    "source": pl.String,
    "destination": pl.String,
    "seq": pl.Int64,
    "id": pl.Int64,
}
OFFERED, SENT, DROPPED, REFUSED = range(4)
NOT_ECT, ECT0, CE = 0, 2, 3
LINKS = 256
"""Maximum number of links: their numbers in a trace have 8 bits."""
EVENTS = ("+", "-", "d", "r")


def read(path: Path, ends: Sequence[tuple[int, int]]) -> pl.DataFrame:
    """Read a trace and add `time_ns` and `link`; `ends` has the node numbers of each link."""
    try:
        events = pl.read_csv(path, has_header=False, separator=" ", schema=SCHEMA, quote_char=None)
    except pl.exceptions.NoDataError:
        events = pl.DataFrame(schema=SCHEMA)
    except pl.exceptions.PolarsError as error:
        raise MissingError(f"{path}: has lines that are not events of ns-2: {str(error).splitlines()[0]}") from None
    links = pl.DataFrame(
        {"near": [near for near, _ in ends], "far": [far for _, far in ends], "link": range(len(ends))},
        schema={"near": pl.Int32, "far": pl.Int32, "link": pl.UInt16},
    )
    events = events.join(links, on=["near", "far"], how="left", maintain_order="left")
    if not events["kind"].is_in(EVENTS).all() or events["link"].has_nulls() or events["id"].has_nulls():
        raise MissingError(f"{path}: has lines that are not events at the scenario's links; is the disk full?")
    return events.with_columns(time_ns=(pl.col("time") * 1e6).round().cast(pl.UInt64) * 1000)


def entries(
    events: pl.DataFrame, groups: Sequence[int], routes: Sequence[Sequence[int]]
) -> Mapping[str, npt.NDArray[Any]]:
    """Columns of the events for `_core.summarise`.

    `groups` has the group of each flow, `routes` the links on each group's data path.
    """
    queued = events.filter(pl.col("kind") != "r")
    enqueued = queued.filter(pl.col("kind") == "+").select("link", "id").with_row_index("packet")
    queued = queued.join(enqueued, on=["link", "id"], how="left", maintain_order="left")
    if queued["packet"].has_nulls():
        raise MissingError("the trace of ns-2 has a departure without arrival")
    group = np.asarray(groups, np.uint32)[queued["flow"].to_numpy()]
    link = queued["link"].to_numpy()
    with_data = np.zeros((len(routes), LINKS), bool)
    for number, route in enumerate(routes):
        with_data[number, list(route)] = True
    to_sink = with_data[group, link]
    near, far = 2 * group, 2 * group + 1
    flags = pl.col("flags")
    ecn = pl.when(flags.str.slice(4, 1) == "E").then(CE).when(flags.str.slice(6, 1) == "N").then(ECT0)
    return {
        "time_ns": queued["time_ns"].to_numpy(),
        "what": _verdicts(queued),
        "link": link,
        "packet": queued["packet"].to_numpy(),
        "flow": queued["flow"].to_numpy(),
        "bytes": queued["bytes"].to_numpy(),
        "segments": np.ones(len(queued), np.uint16),
        "ecn": queued.select(ecn.otherwise(NOT_ECT).cast(pl.UInt8)).to_series().to_numpy(),
        "from_host": np.where(to_sink, near, far).astype(np.uint32),
        "to_host": np.where(to_sink, far, near).astype(np.uint32),
    }


def _verdicts(queued: pl.DataFrame) -> npt.NDArray[Any]:
    """Kind of each event. A drop directly after an arrival at the link is a drop of that arrival."""
    before = pl.col("kind").replace("d", None).forward_fill().shift(1).over("link")
    verdict = (
        pl.when(pl.col("kind") == "+")
        .then(OFFERED)
        .when(pl.col("kind") == "-")
        .then(SENT)
        .when(before == "+")
        .then(REFUSED)
        .otherwise(DROPPED)
    )
    return queued.select(verdict.cast(pl.UInt8)).to_series().to_numpy()


def arrivals(events: pl.DataFrame, last_links: Sequence[int]) -> dict[int, pl.DataFrame]:
    """Packets that left the last link of each flow's data path, by flow: `time_ns`, `seq` and `bytes`."""
    last = pl.DataFrame(
        {"flow": range(len(last_links)), "link": last_links}, schema={"flow": pl.UInt32, "link": pl.UInt16}
    )
    departed = events.filter(pl.col("kind") == "r").join(last, on=["flow", "link"], how="semi", maintain_order="left")
    parts = departed.select("flow", "time_ns", "seq", "bytes").partition_by("flow", as_dict=True, maintain_order=True)
    return {int(flow): part for (flow,), part in parts.items()}
