"""Summary of the series of a data file."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.io.flent.files import FlentData


def summary(data: FlentData) -> list[dict[str, Any]]:
    """A row per series with unit, samples, mean and quantiles of the measurements during the test's traffic."""
    begin, end = data.traffic_s
    rows = []
    for name in data.results:
        times, values = data.samples(name)
        inside = values[(times >= begin) & (times <= end)]
        row: dict[str, Any] = {"series": name, "unit": data.unit(name), "samples": len(inside)}
        quantiles = (
            dict(zip(QUANTILES, np.quantile(inside, list(QUANTILES.values())), strict=True)) if len(inside) else {}
        )
        row["mean"] = float(inside.mean()) if len(inside) else None
        rows.append(row | {key: float(quantiles[key]) if quantiles else None for key in QUANTILES})
    return rows


QUANTILES = {"min": 0.0, "p10": 0.1, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
