"""What a summary reports, in which unit and with how many digits; one list for every table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from sojourn.stats import mean_ci


@dataclass(frozen=True)
class Metric:
    """A column of a summary as people read it: `value * scale` in `unit`."""

    column: str
    label: str
    unit: str = ""
    scale: float = 1.0
    digits: int = 2

    @property
    def heading(self) -> str:
        """Label and unit."""
        return f"{self.label}\n{self.unit}" if self.unit else self.label

    @property
    def axis_label(self) -> str:
        """Label of an axis: one line, the unit in brackets."""
        name = " ".join(self.label.split())
        return f"{name} [{self.unit}]" if self.unit else name

    def show(self, value: float | None, half_width: float | None = None) -> str:
        """Value ± half width of the confidence interval."""
        if value is None:
            return "–"
        text = f"{value * self.scale:.{self.digits}f}"
        return text if half_width is None else f"{text} ± {half_width * self.scale:.{self.digits}f}"


METRICS = (
    Metric("utilisation", "utilisation", "%", 100, 1),
    Metric("goodput_bps", "goodput", "Mbit/s", 1e-6, 2),
    Metric("sojourn_mean_ms", "sojourn\nmean", "ms", 1, 2),
    Metric("sojourn_p50_ms", "sojourn\np50", "ms", 1, 2),
    Metric("sojourn_p95_ms", "sojourn\np95", "ms", 1, 2),
    Metric("sojourn_p99_ms", "sojourn\np99", "ms", 1, 2),
    Metric("sojourn_max_ms", "sojourn\nmax", "ms", 1, 2),
    Metric("drop_rate", "drops", "%", 100, 2),
    Metric("mark_rate", "marks", "%", 100, 2),
    Metric("jain", "Jain\nindex", "", 1, 3),
    Metric("packets", "packets", "", 1, 0),
)


def aggregate(runs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """One row per group of `by`, in order of appearance: means over seeds and 95 % half widths in `…_ci95`."""
    rows = []
    for key, group in groups(runs, by):
        row: dict[str, Any] = dict(zip(by, key, strict=True))
        row["seeds"] = group.height
        for metric in METRICS:
            values = group[metric.column].drop_nulls().to_list()
            mean, half = mean_ci(values)
            row[metric.column] = mean if values else None
            row[f"{metric.column}_ci95"] = half
        row["fingerprint"] = joint_fingerprint(group["fingerprint"].to_list())
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def groups(runs: pl.DataFrame, by: Sequence[str]) -> Iterable[tuple[tuple[Any, ...], pl.DataFrame]]:
    """Rows with equal values of the columns `by`, in order of appearance; without columns all of them."""
    return runs.group_by(by, maintain_order=True) if by else [((), runs)]


def joint_fingerprint(fingerprints: list[str]) -> str:
    """Fingerprint of a run, or one over several runs in the order of their seeds."""
    if len(fingerprints) == 1:
        return fingerprints[0]
    return hashlib.sha256("".join(fingerprints).encode()).hexdigest()[:16]
