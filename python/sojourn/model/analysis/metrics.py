"""What a summary reports, in which unit and with how many digits; one list for every table."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import floor, inf, log10
from typing import Any

import polars as pl

from sojourn.model.analysis.stats import mean_ci
from sojourn.model.analysis.warmup import is_unsettled


@dataclass(frozen=True)
class Metric:
    """A column of a summary as people read it: `value * scale` in `unit`."""

    column: str
    label: str
    unit: str = ""
    scale: float = 1.0
    digits: int = 2
    """Most decimals that are shown."""
    group: str = ""
    """What the label is about, where several metrics are about it."""
    idle: bool = False
    """Whether zero in every row says nothing, as of marks where nobody uses ECN."""
    shown: bool = True
    """Whether tables have it that are not asked for it."""
    counts: bool = False
    """Whether it grows with the statistics' window."""

    @property
    def axis_label(self) -> str:
        """Label of an axis: the unit in brackets."""
        name = " ".join(filter(None, (self.group, self.label)))
        return f"{name} [{self.unit}]" if self.unit else name

    @property
    def whole(self) -> float | None:
        """What all of a share is, as it is shown: 100 of percents, 1 of Jain's index; None of what is no share."""
        if self.unit == "%":
            return 100.0
        return 1.0 if self.column.startswith("jain") else None

    def show(self, value: float | None, half_width: float | None = None) -> str:
        """Value ± half width of the confidence interval: two significant digits of that, else four of the value.

        A half width below the metric's last decimal is told as such, `<0.1`, not as 0.0. Where runs that differ give
        the same value, as quantiles of delays in whole packet times do, it says nothing of the spread, and the value is
        shown alone; so is a count, which is as large as the window is long.
        """
        if value is None:
            return "–"
        shown = value * self.scale
        if not half_width or self.counts:
            return f"{shown:.{self._decimals(abs(shown), 4)}f}"
        half = half_width * self.scale
        decimals = self._decimals(half, 2)
        least = 10**-decimals
        width = f"<{least:.{decimals}f}" if half < least / 2 else f"{half:.{decimals}f}"
        return f"{shown:.{decimals}f} ± {width}"

    def show_difference(self, value: float, half_width: float | None = None) -> str:
        """The same of a difference, with its sign."""
        return f"{'+' if value > 0 else ''}{replace(self, counts=False).show(value, half_width)}"

    def _decimals(self, number: float, significant: int) -> int:
        """Decimals of a number with so many significant digits, within those of the metric."""
        if not 0 < number < inf:
            return self.digits
        return max(0, min(self.digits, significant - 1 - floor(log10(number))))


METRICS = (
    Metric("utilisation", "utilisation", "%", 100, 1),
    Metric("goodput_bps", "goodput", "Mbit/s", 1e-6, 2),
    Metric("delivered_bps", "delivered", "Mbit/s", 1e-6, 2, shown=False),
    Metric("sojourn_mean_ms", "mean", "ms", group="sojourn"),
    Metric("sojourn_p50_ms", "p50", "ms", group="sojourn", shown=False),
    Metric("sojourn_p95_ms", "p95", "ms", group="sojourn"),
    Metric("sojourn_p99_ms", "p99", "ms", group="sojourn"),
    Metric("sojourn_max_ms", "max", "ms", group="sojourn", shown=False),
    Metric("drop_rate", "drops", "%", 100, 2),
    Metric("mark_rate", "marks", "%", 100, 2, idle=True),
    Metric("jain", "Jain index", "", 1, 3),
    Metric("packets", "packets", "", 1, 0, counts=True, shown=False),
)
MEASURES = (
    Metric("download_bps", "download", "Mbit/s", 1e-6, 2),
    Metric("upload_bps", "upload", "Mbit/s", 1e-6, 2),
    Metric("ping_mean_ms", "mean", "ms", group="ping"),
    Metric("ping_p50_ms", "p50", "ms", group="ping", shown=False),
    Metric("ping_p95_ms", "p95", "ms", group="ping"),
    Metric("ping_p99_ms", "p99", "ms", group="ping"),
    Metric("mos", "quality", "MOS", group="call"),
    Metric("call_loss", "loss", "%", 100, 2, group="call"),
)
"""What a summary has besides, of traffic that is one of Flent's tests."""
ALL = (*MEASURES, *METRICS)


def those_of(columns: Iterable[str]) -> list[Metric]:
    """The metrics among the columns of a table of runs, of means or of differences."""
    there = list(columns)
    found = [metric for metric in ALL if metric.column in there]
    return [*found, *filter(None, map(of_group, dict.fromkeys(there)))]


def of_group(column: str) -> Metric | None:
    """Jain's index of a group of flows, of the column `jain_flows_0`; None of any other column."""
    match = re.fullmatch(r"jain_flows_(\d+)", column)
    return Metric(column, f"Jain flows.{match[1]}", "", 1, 3) if match else None


BY_COLUMN = {metric.column: metric for metric in METRICS}


SEARCHED = {"settled": pl.Boolean, "not_settled": pl.String}
"""Types of the columns of a summary about a warm-up that was to be found, which may be empty."""


def aggregate(runs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """One row per group of `by`, in order of appearance: means over seeds and 95 % half widths in `…_ci95`.

    Runs with equal fingerprints are one run: `seeds` says how many there are, `distinct` how many differ, and a single
    one has no interval. `warmup_min_s` and `warmup_max_s` are what was left out, `not_settled` the number of runs that
    have not settled, `changing` of those in which link or load change; null where the warm-up was given.
    """
    rows = []
    for key, group in groups(runs, by):
        row: dict[str, Any] = dict(zip(by, key, strict=True))
        distinct = distinct_runs(group)
        row |= {"seeds": group.height, "distinct": distinct.height, **_warmup(group)}
        for metric in those_of(runs.columns):
            values = distinct[metric.column].drop_nulls().to_list()
            mean, half = mean_ci(values)
            row[metric.column] = mean if values else None
            row[f"{metric.column}_ci95"] = half
        row["fingerprint"] = joint_fingerprint(group["fingerprint"].to_list())
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def in_html(table: pl.DataFrame, names: Sequence[str], notes: Sequence[str] = (), most: int = 12) -> str:
    """A table of runs or of means for a notebook: the usual columns, at most so many, and sentences below it.

    The columns `names`, which name the rows, come first.
    """
    metrics = [metric for metric in those_of(table.columns) if metric.shown and table[metric.column].drop_nulls().len()]
    metrics = [metric for metric in metrics if not metric.idle or (table[metric.column] != 0).any()]
    metrics = metrics[: max(0, most - len(names))]
    headings = [*names[:most], *(metric.axis_label for metric in metrics)]
    rows = [
        [
            *(str(row[name]) for name in names[:most]),
            *(metric.show(row[metric.column], row.get(f"{metric.column}_ci95")) for metric in metrics),
        ]
        for row in table.iter_rows(named=True)
    ]
    lines = [_row("th", headings), *(_row("td", cells) for cells in rows)]
    return f"<table>{''.join(lines)}</table>" + "".join(f"<p>{escape(note)}</p>" for note in notes)


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def distinct_runs(runs: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """The first of all rows with the same fingerprint (and columns `by`): they are the same run."""
    return runs.unique([*by, "fingerprint"], keep="first", maintain_order=True)


def _warmup(runs: pl.DataFrame) -> dict[str, Any]:
    if "settled" not in runs.columns:
        return {}
    searched = runs.filter(pl.col("settled").is_not_null())["not_settled"].to_list()
    reasons = [reason for reason in searched if reason is not None]
    unsettled = sum(map(is_unsettled, reasons))
    return {
        "warmup_min_s": runs["warmup_s"].min(),
        "warmup_max_s": runs["warmup_s"].max(),
        "not_settled": unsettled if searched else None,
        "changing": len(reasons) - unsettled if searched else None,
    }


def groups(runs: pl.DataFrame, by: Sequence[str]) -> Iterable[tuple[tuple[Any, ...], pl.DataFrame]]:
    """Rows with equal values of the columns `by`, in order of appearance; without columns all of them."""
    return runs.group_by(by, maintain_order=True) if by else [((), runs)]


def joint_fingerprint(fingerprints: list[str]) -> str:
    """Fingerprint of a run, or one over several runs in the order of their seeds."""
    if len(fingerprints) == 1:
        return fingerprints[0]
    return hashlib.sha256("".join(fingerprints).encode()).hexdigest()[:16]
