"""What the series of a data file amount to."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.io.flent.files import Flent


def summary(data: Flent) -> list[dict[str, Any]]:
    """A row for each series: unit, samples, mean, quantiles, of what was measured while the test's traffic went on."""
    begin, end = data.traffic_s
    rows = []
    for name in data.results:
        times, values = data.samples(name)
        own = values[(times >= begin) & (times <= end)]
        row: dict[str, Any] = {"series": name, "unit": data.unit(name), "samples": len(own)}
        quantiles = dict(zip(QUANTILES, np.quantile(own, list(QUANTILES.values())), strict=True)) if len(own) else {}
        row["mean"] = float(own.mean()) if len(own) else None
        rows.append(row | {key: float(quantiles[key]) if quantiles else None for key in QUANTILES})
    return rows


QUANTILES = {"min": 0.0, "p10": 0.1, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
