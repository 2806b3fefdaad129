"""The figure of media flows: drawn data, its source, and rejected input."""

from __future__ import annotations

import polars as pl
import pytest

from drawn_figures import call, drawn
from sojourn.base.errors import InputError
from sojourn.figures.marks import series_of


def test_flows_of_media_have_rates_delay_and_losses() -> None:
    run = call()
    panels = drawn("media", [run]).figure.axes
    reports = run.media.filter(pl.col("flow") == 1)
    series = {one.name: one.columns for axes in panels for one in series_of(axes)}
    assert series["capacity"]["y"].tolist() == [0.613, 0.251]
    assert series["target rate, nada (flow 1)"]["y"][:-1].tolist() == (reports["target_bps"] * 1e-6).to_list()
    for name, column, unit in (
        ("received rate", "bytes", 8e-6),
        ("packets lost", "lost", 1),
        ("frames late", "frames_late", 1),
    ):
        steps = series[f"{name}, nada (flow 1)"]
        total = float((steps["y"] * (steps["x_end"] - steps["x"])).sum())
        assert total == pytest.approx(unit * reports[column].sum())
    assert reports["lost"].sum() > 0 and reports["frames_late"].sum() > 0
    assert (
        series["queueing delay, nada (flow 0)"]["y"].max() == run.media.filter(pl.col("flow") == 0)["queueing_ms"].max()
    )


def test_flows_of_media_are_chosen() -> None:
    run = call()
    names = {one.name for axes in drawn("media", [run], flow="1").figure.axes for one in series_of(axes)}
    assert "target rate, nada (flow 1)" in names and "target rate, nada (flow 0)" not in names
    with pytest.raises(InputError, match="--flow 2: is not a media flow with a report; expected one of 0, 1"):
        drawn("media", [run], flow="2")
