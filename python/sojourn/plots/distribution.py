"""What the CDF and the CCDF share: distributions from the runs' histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sojourn.errors import InputError
from sojourn.plots.canvas import Span, curves, plain_legend, sojourn_axis
from sojourn.stats import merge_histograms, quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.result import Result


def distributions(results: Sequence[Result], labels: Sequence[str]) -> pl.DataFrame:
    """Histogram of the forward link per label; runs of one label are added up."""
    frames = []
    for label in dict.fromkeys(labels):
        own = [result.histogram for result, name in zip(results, labels, strict=True) if name == label]
        merged = merge_histograms(own)
        if merged.is_empty():
            raise InputError(f"{label}: no packet was sent after the warm-up; give a longer duration")
        frames.append(merged.with_columns(label=pl.lit(label)))
    return pl.concat(frames)


def draw_distribution(table: pl.DataFrame, axes: Axes, *, tail: bool) -> list[Span]:
    """Draw the share of packets per sojourn time, one curve per `label`; with `tail` the share that waited longer.

    Gives what each curve spans.
    """
    labels = table["label"].unique(maintain_order=True).to_list()
    spans = []
    for label, curve in zip(labels, curves(len(labels)), strict=True):
        histogram = table.filter(pl.col("label") == label)
        share = histogram["count"].cum_sum() / histogram["count"].sum()
        axes.step(histogram["upper_ms"], 1 - share if tail else share, where="post", label=label, **curve)
        low, median, high = (quantile(histogram, q) or 0.0 for q in (0.02, 0.5, 1.0 if tail else 0.999))
        spans.append(Span(low, median, high))
    sojourn_axis(axes, spans)
    axes.set_xlabel("sojourn time [ms]")
    plain_legend(axes, labels)
    return spans
