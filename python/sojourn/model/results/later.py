"""Statistics of a result from a later instant on: read from tables that the core writes if it searches the warm-up.

`windows` has the summary of each link from each instant on, `flow_windows` that of each long-lived flow,
`group_windows` that of each group, `airtime_windows` the airtimes of a wireless LAN; `sojourn_windows` has histograms
between the instants, which add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sojourn.base.errors import InputError
from sojourn.base.frames import Columns
from sojourn.model.analysis.stats import merged_bins
from sojourn.model.results.columns import rows_where
from sojourn.model.results.flat import jains
from sojourn.model.results.payload import payload_summary

if TYPE_CHECKING:
    from sojourn.model.results.result import Result

WINDOWS, SOJOURNS, FLOWS = "windows", "sojourn_windows", "flow_windows"
GROUPS, AIRTIMES = "group_windows", "airtime_windows"


def start_ns(result: Result, start_s: float) -> int:
    """First possible start of statistics at or after `start_s`, in ns; the last possible one if there is none."""
    windows = _table(result, WINDOWS)
    starts = windows["start_ns"][windows["link"] == 0]
    later = starts[starts >= round(1e9 * start_s)]
    return int(later[0] if len(later) else starts[-1])


def summary_row(result: Result, start: int, link: int, *, whole: bool = True) -> dict[str, Any]:
    """Columns of a link's summary from `start` on; empty for a link without a packet.

    `link` is its number. Without `whole`, columns about the whole run are left out.
    """
    rows = rows_where(_table(result, WINDOWS), start_ns=start, link=link)
    return {key: value for key, value in rows[0].items() if whole or key not in OF_RUN} if rows else {}


def whole_row(result: Result, start: int) -> dict[str, Any]:
    """Columns of the summary about the whole run, from `start` on."""
    row = summary_row(result, start, 0)
    return {key: row[key] for key in OF_RUN} | jains(groups(result, start))


def totals(result: Result, start: int) -> dict[str, Any]:
    """The summary from `start` on; without links, video, media and endpoints that have no later statistics."""
    summary = result.totals | whole_row(result, start) | {"warmup_s": start / 1e9}
    rows = [summary_row(result, start, number, whole=False) for number in result.first_queues]
    wlan = {key: summary[key] for key in ("wlan",) if key in summary}
    hops = [_hop(hop, rows[2 * place + 2 : 2 * place + 4]) for place, hop in enumerate(summary["hops"])]
    return summary | {
        "links": _hop({**summary["links"], **wlan}, rows[:2]),
        "hops": hops,
        "groups": groups(result, start),
        "flows": flows(result, start) if summary["flows"] else [],
    }


def _hop(hop: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A bottleneck with the columns of `rows`, one per direction; the stations of a wireless LAN together have none."""
    reverse = {} if "wlan" in hop else _link(hop["reverse"], rows[1])
    return {**hop, "forward": _link(hop["forward"], rows[0]), "reverse": reverse}


def _link(link: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    times = {key: row.get(f"sojourn_{key}_ms", value) for key, value in link["sojourn_ms"].items()}
    return {**link, **{key: row[key] for key in link.keys() & row.keys()}, "sojourn_ms": times}


def bins(result: Result, start: int) -> Columns:
    """The table `sojourn_histogram` from `start` on."""
    table = _table(result, SOJOURNS)
    later = table["start_ns"] >= start
    return merged_bins({name: column[later] for name, column in table.items() if name != "start_ns"})


def flows(result: Result, start: int) -> list[dict[str, Any]]:
    """Entries of `flows` in the summary from `start` on."""
    rows = _rows_from(result, start, FLOWS, "flow")
    return [flow | {key: rows[flow["id"]].get(key) for key in flow.keys() & MOVED} for flow in result.totals["flows"]]


def groups(result: Result, start: int) -> list[dict[str, Any]]:
    """Entries of `groups` in the summary from `start` on, without parts that have no later statistics."""
    if not result.totals["groups"]:
        return []
    rows = _rows_from(result, start, GROUPS, "group")
    found = []
    for number, group in enumerate(result.totals["groups"]):
        row = rows[number]
        times = {key: row.pop(f"completion_{key}_ms", None) for key in group["completion_ms"]}
        kept = {key: value for key, value in group.items() if key not in WITHOUT_LATER}
        found.append(kept | {key: row[key] for key in kept.keys() & row.keys()} | {"completion_ms": times})
    return found


def _rows_from(result: Result, start: int, table: str, key: str) -> dict[int, dict[str, Any]]:
    """Rows of a table of flows or groups from `start` on, by number, with payload rates."""
    span_s = result.duration_s - start / 1e9
    return {
        row.pop(key): row | payload_summary(row["bytes"], row["delivered_bytes"], span_s)
        for row in rows_where(_table(result, table), start_ns=start)
    }


def airtimes(result: Result, start: int, first: int, stations: int) -> list[dict[str, float]]:
    """Airtimes of a wireless LAN's stations from `start` on; `first` is the number of the LAN's first queue."""
    rows = rows_where(_table(result, AIRTIMES), start_ns=start)
    own = sorted((row for row in rows if first < row["node"] <= first + stations), key=lambda row: int(row["node"]))
    return [{key: row[key] for key in ("airtime", "airtime_down")} for row in own]


def _table(result: Result, name: str) -> Columns:
    table = result.columns(name) if name in result.table_names else None
    if table is None or (name == WINDOWS and "link" not in table):
        where = result.folder or result
        raise InputError(
            f"{where}: lacks the statistics from later start times, which this version of Sojourn writes; run it "
            "again into another folder (-o)"
        )
    return table


WITHOUT_LATER = ("video", "media", "endpoint")
"""Parts of a group with statistics from the run's own warm-up only."""
OF_RUN = ("goodput_bps", "delivered_bps", "jain")
"""Columns of `windows` about the whole run."""
DATAGRAMS = ("delay_ms", "delay_variation_ms", "loss_rate", "mos")
MOVED = frozenset(("goodput_bps", "bytes", "delivered_bps", "delivered_bytes", "rtt_ms", *DATAGRAMS))
"""Columns of a flow that are counted from the start of the statistics on; the others cover the whole run."""
