"""Figures: what they show, in which units, in which style."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from conftest import SHORT
from sojourn import plots
from sojourn.labels import label_results
from sojourn.plots.canvas import LOWEST_MS, curves, new_figure, save, style
from sojourn.plots.comparison import comparison
from sojourn.plots.timeseries import MANY_DROPS, STEPS, forward_packets

OKABE_ITO = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"}


@pytest.fixture(scope="module")
def results() -> list[sj.Result]:
    base = sj.Scenario.parse(SHORT, {"probes.packets": True, "duration": "6 s"})
    return [base.replace({"link.aqm": aqm}).run(seed) for aqm in ("droptail", "codel") for seed in (1, 2)]


def _drawn(kind: str, results: list[sj.Result]) -> list:
    figure = new_figure()
    with style():
        plots.kind(kind)(results, label_results(results), figure)
    return figure.axes


@pytest.mark.parametrize("kind", ["cdf", "ccdf"])
def test_distributions_have_units_legend_and_one_curve_per_label(kind: str, results: list[sj.Result]) -> None:
    [axes] = _drawn(kind, results)
    assert axes.get_xlabel() == "sojourn time [ms]"
    assert "share of packets" in axes.get_ylabel()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["droptail", "codel"]
    assert len({line.get_linestyle() for line in axes.get_lines()}) == 2
    shares = axes.get_lines()[0].get_ydata()
    assert shares[-1] == pytest.approx(1.0 if kind == "cdf" else 0.0)


def test_time_series_has_a_panel_per_label(results: list[sj.Result]) -> None:
    panels = _drawn("timeseries", results)
    assert [axes.get_title(loc="left") for axes in panels] == ["droptail", "codel"]
    assert all(axes.get_ylabel() == "sojourn [ms]" for axes in panels)
    assert panels[-1].get_xlabel().startswith("time [s]")
    assert panels[-1].get_xlim() == (0, 6)


def test_every_drop_is_a_line(results: list[sj.Result]) -> None:
    codel = results[2]
    drops = forward_packets(codel).filter(~pl.col("fate").is_in(["sent", "marked"])).height
    assert 0 < drops <= MANY_DROPS
    axes = _drawn("timeseries", [codel])[0]
    [lines] = [c for c in axes.collections if c.__class__.__name__ == "LineCollection"]
    assert len(lines.get_segments()) == drops
    assert axes.get_title(loc="right") == f"{drops} drops (thin lines)"


def test_long_runs_are_drawn_as_median_and_range(results: list[sj.Result]) -> None:
    assert forward_packets(results[0]).height > 2 * STEPS
    axes = _drawn("timeseries", results[:1])[0]
    assert len(axes.get_lines()[0].get_xdata()) <= STEPS + 1
    assert "band: lowest to highest" in axes.get_xlabel()


def test_comparison_on_a_trace_shows_its_capacity(tmp_path: Path) -> None:
    (tmp_path / "x.trace").write_text("1\n2\n3\n4\n5\n500\n")
    found = sj.compare(["droptail", "codel"], trace=tmp_path / "x.trace", duration="4 s")
    titles = [axes.get_title(loc="left") for axes in comparison(found.aqms, found.results).axes]
    assert titles == ["droptail", "codel", "capacity of the link", ""]


def test_comparison_without_packets_shows_the_distribution(results: list[sj.Result]) -> None:
    found = sj.compare(["droptail", "codel"], duration="3 s", packets=False)
    [axes] = comparison(found.aqms, found.results).axes
    assert axes.get_xlabel() == "sojourn time [ms]"


def test_logarithmic_axis_says_where_zero_is(results: list[sj.Result]) -> None:
    [axes] = _drawn("cdf", results)
    assert axes.get_xscale() == "log"
    assert axes.xaxis.get_major_formatter()(LOWEST_MS, 0) == "≤0.1"
    assert axes.xaxis.get_major_formatter()(10, 0) == "10"


def test_curves_differ_in_colour_or_style() -> None:
    with style():
        found = curves(14)
    assert {curve["color"] if curve["color"].startswith("#") else f"#{curve['color']}" for curve in found} == OKABE_ITO
    assert len({(curve["color"], str(curve["linestyle"])) for curve in found}) == 14


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_the_same_figure_is_the_same_file(results: list[sj.Result], tmp_path: Path, suffix: str) -> None:
    paths = []
    for name in ("a", "b"):
        with style():
            figure = new_figure()
            plots.kind("cdf")(results, label_results(results), figure)
        paths.append(save(figure, tmp_path / f"{name}.{suffix}"))
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_labels_name_what_differs() -> None:
    base = sj.Scenario.parse(SHORT)
    one, two = base.run(1), base.replace({"flows.0.count": 1}).run(1)
    assert label_results([one]) == ["codel"]
    assert label_results([one, two]) == ["2 flows", "1 flow"]
    assert label_results([one, base.run(2)]) == ["seed 1", "seed 2"]
    assert label_results([one, base.replace({"link.aqm": "droptail"}).run(2)]) == ["codel", "droptail"]


def test_no_packets_at_all_is_said() -> None:
    idle = sj.Scenario.parse(SHORT, {"flows.0.start": "2900 ms", "flows.0.rtt": "1 s", "probes.packets": True})
    with pytest.raises(sj.InputError, match="no packet"):
        _drawn("cdf", [idle.run()])
