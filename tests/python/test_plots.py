"""Figures: data, units and style."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from conftest import SHORT, Cli, printed_json
from sojourn.figures.api import draw
from sojourn.figures.canvas import new_figure, style
from sojourn.figures.capacity import capacity, rate_varies
from sojourn.figures.channels import curves
from sojourn.figures.scales import LOWEST_MS
from sojourn.figures.timeseries import MANY_DROPS, STEPS, forward_packets
from sojourn.model.analysis.labels import Name, names_of

OKABE_ITO = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}


@pytest.fixture(scope="module")
def results() -> list[sj.Result]:
    base = sj.Scenario.parse(SHORT, {"probes.packets": True, "duration": "6 s"})
    return [base.replace({"link.aqm": aqm}).run(seed) for aqm in ("droptail", "codel") for seed in (1, 2)]


def _drawn(kind: str, results: list[sj.Result]) -> list:
    return draw(kind, results, names_of(results))[0].figure.axes


@pytest.mark.parametrize("kind", ["cdf", "ccdf"])
def test_distributions_have_units_legend_and_one_curve_per_label(kind: str, results: list[sj.Result]) -> None:
    [axes] = _drawn(kind, results)
    assert axes.get_xlabel() == "sojourn time [ms]"
    assert axes.get_ylabel().startswith("share ")
    assert [text.get_text() for text in axes.figure.legends[0].get_texts()] == ["droptail", "codel"]
    assert len({line.get_linestyle() for line in axes.get_lines()}) == 2
    shares = axes.get_lines()[0].get_ydata()
    assert shares[-1] == pytest.approx(1.0 if kind == "cdf" else 0.0)


def test_time_series_has_a_panel_per_label(results: list[sj.Result]) -> None:
    panels = _drawn("timeseries", results)
    assert [axes.get_title(loc="left") for axes in panels] == ["droptail", "codel"]
    assert all(axes.get_ylabel() == "sojourn [ms]" for axes in panels)
    assert panels[-1].get_xlabel() == "time [s]"
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
    assert "band: lowest to highest" in axes.figure.get_supxlabel()


STATE_PANELS = {
    "codel": ["count", "time to\ndrop_next [ms]"],
    "pie": ["p [%]", "qdelay [ms]"],
    "red": ["avg [kB]", "prob [%]", "count"],
    "red@linux": ["avg [kB]", "count"],
    "choke": ["avg [packets]", "matched"],
    "fq_codel": ["new_flows", "old_flows", "count", "time to\ndrop_next [ms]"],
    "sfq": ["new_flows", "old_flows", "new_flow_\ncount", "drop_\noverlimit"],
}


def with_state(aqm: str, **sets: object) -> sj.Result:
    return sj.Scenario.parse(SHORT, {"link.aqm": aqm, "probes.state": "10 ms", "probes.packets": True} | sets).run()


@pytest.mark.parametrize("aqm", STATE_PANELS)
def test_state_has_a_panel_per_variable_with_its_unit(aqm: str) -> None:
    panels = _drawn("state", [with_state(aqm)])
    assert [axes.get_ylabel() for axes in panels] == STATE_PANELS[aqm]
    assert panels[0].get_title(loc="left") == aqm
    assert panels[-1].get_xlabel() == "time [s]"


def test_state_shows_recorded_values_in_their_units() -> None:
    result = with_state("pie")
    recorded = result.state.filter(pl.col("link") == "forward")
    p, qdelay = _drawn("state", [result])
    assert p.get_lines()[0].get_ydata() == pytest.approx((recorded["p"] * 100).to_numpy())
    assert qdelay.get_lines()[0].get_ydata() == pytest.approx((recorded["qdelay"] * 1000).to_numpy())
    assert qdelay.get_lines()[1].get_ydata() == [15, 15]  # the target
    drops = forward_packets(result).filter(~pl.col("fate").is_in(["sent", "marked"])).height
    assert drops > 0
    for axes in (p, qdelay):
        [lines] = [c for c in axes.collections if c.__class__.__name__ == "LineCollection"]
        assert len(lines.get_segments()) == drops


def test_the_time_to_the_next_drop_is_shown_while_there_is_one() -> None:
    result = with_state("codel")
    recorded = result.state.filter(pl.col("link") == "forward")
    shown = _drawn("state", [result])[1].get_lines()[0].get_ydata()
    left_ms = (recorded["drop_next"] - recorded["time_s"]) * 1000
    for value, left, dropping in zip(shown, left_ms, recorded["dropping"], strict=True):
        assert value == pytest.approx(left) if dropping else value != value
    assert 0 < recorded["dropping"].sum() < recorded.height


def test_state_of_several_queue_managers_shares_the_panels() -> None:
    results = [with_state(aqm) for aqm in ("codel", "codel@linux", "fq_codel")]
    panels = _drawn("state", results)
    assert [axes.get_ylabel() for axes in panels] == [*STATE_PANELS["codel"], "new_flows", "old_flows"]
    assert [text.get_text() for text in panels[0].figure.legends[0].get_texts()] == ["codel", "codel@linux", "fq_codel"]
    assert len({line.get_linestyle() for line in panels[0].get_lines()}) == 3


def test_state_in_bytes_and_in_packets_is_not_mixed() -> None:
    with pytest.raises(sj.InputError, match="avg is in bytes in one result and in packets in another"):
        _drawn("state", [with_state("red"), with_state("choke")])


STATE_ERRORS = {
    "unknown variable": (["state", "--variables", "cuont"], 'did you mean "count"?'),
    "other kind": (["cdf", "--variables", "count"], "the figure kind cdf has no such option; leave it out"),
}


@pytest.mark.parametrize("case", STATE_ERRORS)
def test_variables_that_are_not_there(cli: Cli, scenario_file: Path, case: str) -> None:
    (kind, *options), expected = STATE_ERRORS[case]
    folder = printed_json(cli("run", scenario_file, "--set", "probes.state=10 ms", "--json"))["folder"]
    refused = cli("plot", kind, folder, *options)
    assert refused.exit_code == 2
    assert expected in refused.stderr
    assert cli("plot", "state", folder, "--variables", "count, dropping").exit_code == 0


def test_state_without_its_probe_or_variables_is_refused(cli: Cli, scenario_file: Path) -> None:
    folder = printed_json(cli("run", scenario_file, "--json"))["folder"]
    assert '--set probes.state="10 ms"' in cli("plot", "state", folder).stderr
    with pytest.raises(sj.InputError, match="droptail: no state variable"):
        _drawn("state", [with_state("droptail")])
    panels = _drawn("state", [with_state("droptail"), with_state("codel")])
    assert [axes.get_ylabel() for axes in panels] == STATE_PANELS["codel"]
    assert panels[0].get_title(loc="left") == "codel"


def test_comparison_on_a_trace_shows_its_capacity(tmp_path: Path) -> None:
    (tmp_path / "x.trace").write_text("1\n2\n3\n4\n5\n500\n")
    found = sj.compare(["droptail", "codel"], trace=tmp_path / "x.trace", duration="4 s")
    titles = [axes.get_title(loc="left") for axes in found.plot.comparison().figure.axes]
    assert titles == ["droptail", "codel", "capacity of the link", ""]


def test_comparison_without_packets_shows_the_distribution(results: list[sj.Result]) -> None:
    found = sj.compare(["droptail", "codel"], duration="3 s", packets=False)
    [axes] = found.plot.comparison().figure.axes
    assert axes.get_xlabel() == "sojourn time [ms]"


def test_logarithmic_axis_marks_zero(results: list[sj.Result]) -> None:
    [axes] = _drawn("cdf", results)
    assert axes.get_xscale() == "log"
    assert axes.xaxis.get_major_formatter()(LOWEST_MS, 0) == "≤0.1"
    assert axes.xaxis.get_major_formatter()(10, 0) == "10"


def test_curves_differ_in_colour_or_style() -> None:
    with style():
        found = curves(14)
    assert {curve["color"] for curve in found} == OKABE_ITO
    assert len({(curve["color"], str(curve["linestyle"])) for curve in found}) == 14


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_the_same_figure_is_the_same_file(results: list[sj.Result], tmp_path: Path, suffix: str) -> None:
    paths = []
    for name in ("a", "b"):
        paths.append(draw("cdf", results, names_of(results))[0].save(tmp_path / f"{name}.{suffix}"))
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_labels_name_the_differences() -> None:
    base = sj.Scenario.parse(SHORT)
    one, two = base.run(1), base.replace({"flows.0.count": 1}).run(1)
    assert names_of([one]) == [Name("codel")]
    assert names_of([one, two]) == [Name("", "2 flows"), Name("", "1 flow")]
    assert names_of([one, base.run(2)]) == [Name("", "seed 1"), Name("", "seed 2")]
    assert names_of([one, base.replace({"link.aqm": "droptail"}).run(2)]) == [Name("codel"), Name("droptail")]


def test_no_packets_at_all_is_reported() -> None:
    idle = sj.Scenario.parse(SHORT, {"flows.0.start": "2900 ms", "flows.0.rtt": "1 s", "probes.packets": True})
    with pytest.raises(sj.InputError, match="no packet"):
        _drawn("cdf", [idle.run()])


def test_a_comparison_shows_the_rate_of_a_schedule() -> None:
    def link(rate: str) -> sj.Scenario:
        return sj.Scenario.parse(SHORT, {"link.rate": rate})

    assert not rate_varies(link("10 Mbit/s").bottleneck)
    steps = link("10mbit@0s,500kbit@1s,0bit@2500ms")
    assert rate_varies(steps.bottleneck)
    axes = new_figure().subplots()
    capacity(steps.bottleneck, 3, axes)
    [stairs] = axes.patches
    assert stairs.get_data().values.tolist() == [10, 0.5, 0]
    assert stairs.get_data().edges.tolist() == [0, 1, 2.5, 3]
