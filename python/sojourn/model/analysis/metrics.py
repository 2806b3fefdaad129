"""Metrics of a summary with their units and digits; one list for every table."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import floor, inf, log10
from typing import Any

from sojourn.base.late import pl
from sojourn.model.analysis.stats import mean_ci
from sojourn.model.analysis.warmup import is_unsettled


@dataclass(frozen=True)
class Metric:
    """A column of a summary as shown to people: `value * scale` in `unit`."""

    column: str
    label: str
    unit: str = ""
    scale: float = 1.0
    digits: int = 2
    """Maximum number of decimals."""
    group: str = ""
    """Heading that several metrics share, e.g. "sojourn"."""
    idle: bool = False
    """Whether a column of zeros is omitted, e.g. marks if no flow uses ECN."""
    shown: bool = True
    """Whether tables show it by default."""
    counts: bool = False
    """Whether the value grows with the length of the statistics window."""

    @property
    def axis_label(self) -> str:
        """Label of an axis, with the unit in brackets."""
        name = " ".join(filter(None, (self.group, self.label)))
        return f"{name} [{self.unit}]" if self.unit else name

    @property
    def whole(self) -> float | None:
        """Value of 100 % as shown: 100 for percentages, 1 for Jain's index; None if the metric is not a ratio."""
        if self.unit == "%":
            return 100.0
        return 1.0 if self.column.startswith("jain") else None

    def show(self, value: float | None, half_width: float | None = None) -> str:
        """Value ± half width of the confidence interval: two significant digits of the latter, else four of the value.

        A half width below the metric's last decimal is shown as `<0.1`, not as 0.0. Distinct runs can give equal
        values, e.g. quantiles of delays in whole packet times; the half width is then no measure of spread, and the
        value is shown alone. So are counts, which grow with the window.
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
        """Like `show`, for a difference, with its sign."""
        return f"{'+' if value > 0 else ''}{replace(self, counts=False).show(value, half_width)}"

    def _decimals(self, number: float, significant: int) -> int:
        """Decimals for `significant` significant digits of a number, at most the metric's."""
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
"""Additional metrics if the traffic is one of Flent's tests."""
ALL = (*MEASURES, *METRICS)


def metrics_in(columns: Iterable[str]) -> list[Metric]:
    """Metrics among the columns of a table of runs, means or differences."""
    present = list(columns)
    found = [metric for metric in ALL if metric.column in present]
    return [*found, *filter(None, map(of_group, dict.fromkeys(present)))]


def of_group(column: str) -> Metric | None:
    """Metric of a column `jain_flows_0`: Jain's index of a flow group; None for other columns."""
    match = re.fullmatch(r"jain_flows_(\d+)", column)
    return Metric(column, f"Jain flows.{match[1]}", "", 1, 3) if match else None


BY_COLUMN = {metric.column: metric for metric in METRICS}


def table_of_runs(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of summaries as a frame; columns about a searched warm-up may be null in every row."""
    searched = {"settled": pl.Boolean, "not_settled": pl.String}
    return pl.DataFrame(rows, schema_overrides=searched, infer_schema_length=None)


def columns_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Columns of a table with these rows, in order of appearance; a row may lack some."""
    return list(dict.fromkeys(column for row in rows for column in row))


def aggregate(runs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The rows of `aggregate_rows` as a frame."""
    return pl.DataFrame(aggregate_rows(runs.to_dicts(), by), infer_schema_length=None)


def aggregate_rows(runs: Sequence[Mapping[str, Any]], by: Sequence[str]) -> list[dict[str, Any]]:
    """One row per group of `by`, in order of appearance: means over seeds and 95 % half widths in `…_ci95`.

    Runs with equal fingerprints count as one: `seeds` is the number of runs, `distinct` the number of different ones; a
    single one has no interval. `warmup_min_s` and `warmup_max_s` are the range of the warm-ups, `not_settled` the
    number of runs that have not settled, `changing` the number of those in which link or load change; null if the
    warm-up was given.
    """
    metrics = metrics_in(columns_of(runs))
    grouped: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for run in runs:
        grouped.setdefault(tuple(run[name] for name in by), []).append(run)
    rows = []
    for key, group in grouped.items():
        row: dict[str, Any] = dict(zip(by, key, strict=True))
        distinct = {run["fingerprint"]: run for run in reversed(group)}.values()
        row |= {"seeds": len(group), "distinct": len(distinct), **_warmup(group)}
        for metric in metrics:
            values = [run[metric.column] for run in reversed(distinct) if run.get(metric.column) is not None]
            mean, half = mean_ci(values)
            row[metric.column] = mean if values else None
            row[f"{metric.column}_ci95"] = half
        row["fingerprint"] = joint_fingerprint([run["fingerprint"] for run in group])
        rows.append(row)
    return rows


def in_html(table: pl.DataFrame, names: Sequence[str], notes: Sequence[str] = (), most: int = 12) -> str:
    """HTML table of runs or means for a notebook: the default columns, at most `most`, and notes below it.

    The columns `names`, which name the rows, come first.
    """
    metrics = [
        metric for metric in metrics_in(table.columns) if metric.shown and table[metric.column].drop_nulls().len()
    ]
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
    """First row per fingerprint (and per value of the columns `by`): equal fingerprints are the same run."""
    return runs.unique([*by, "fingerprint"], keep="first", maintain_order=True)


def _warmup(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if not any("settled" in run for run in runs):
        return {}
    searched = [run["not_settled"] for run in runs if run.get("settled") is not None]
    reasons = [reason for reason in searched if reason is not None]
    unsettled = sum(map(is_unsettled, reasons))
    warmups = [run["warmup_s"] for run in runs]
    return {
        "warmup_min_s": min(warmups),
        "warmup_max_s": max(warmups),
        "not_settled": unsettled if searched else None,
        "changing": len(reasons) - unsettled if searched else None,
    }


def groups(runs: pl.DataFrame, by: Sequence[str]) -> Iterable[tuple[tuple[Any, ...], pl.DataFrame]]:
    """Rows with equal values of the columns `by`, in order of appearance; without columns all rows."""
    return runs.group_by(by, maintain_order=True) if by else [((), runs)]


def joint_fingerprint(fingerprints: list[str]) -> str:
    """Fingerprint of a run, or a joint one of several runs in the order of their seeds."""
    if len(fingerprints) == 1:
        return fingerprints[0]
    return hashlib.sha256("".join(fingerprints).encode()).hexdigest()[:16]
