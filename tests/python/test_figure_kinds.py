"""Figure kinds for studies or packets: drawn data, its source, and rejected input."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import LogNorm

import sojourn as sj
from conftest import REPO, SHORT, Cli, printed_json
from drawn_figures import call, cell
from sojourn import figures
from sojourn.base.units import quantity
from sojourn.figures import scales
from sojourn.figures.api import draw
from sojourn.figures.capacity import measured_capacity
from sojourn.figures.ellipse import ellipse, points_of_flows, points_of_run
from sojourn.figures.heatmap import common_norm
from sojourn.figures.marks import Series, series_of
from sojourn.figures.queue import length_of
from sojourn.figures.rates import rates
from sojourn.figures.warmup import GID, NOTE
from sojourn.model.analysis.labels import Name, names_of
from sojourn.model.analysis.packets import dropped, tewma
from sojourn.model.analysis.stats import mean_ci, merged, quantile
from sojourn.model.analysis.swept import choose, parameters, rest_names
from sojourn.studies.runs.store import load_all
from sojourn.studies.study import Study

PROBES = {
    "probes.packets": True,
    "probes.senders": True,
    "probes.utilisation": "250 ms",
    "probes.flows": "250 ms",
}


def run(seed: int = 1, **sets: object) -> sj.Result:
    """Run the short scenario; `__` in a key stands for a dot."""
    return sj.Scenario.parse(SHORT, PROBES | {key.replace("__", "."): value for key, value in sets.items()}).run(seed)


@pytest.fixture(scope="module")
def study() -> list[sj.Result]:
    """Two queue managers, three rates, two RTTs, two seeds."""
    return [
        run(seed, link__aqm=aqm, link__rate=rate, flows__0__rtt=rtt)
        for aqm in ("droptail", "codel")
        for rate in ("2 Mbit/s", "5 Mbit/s", "20 Mbit/s")
        for rtt in ("20 ms", "80 ms")
        for seed in (1, 2)
    ]


@pytest.fixture(scope="module")
def codel() -> sj.Result:
    return run()


def drawn(kind: str, results: list[sj.Result], **options: str) -> list[Any]:
    found, _ = draw(kind, results, names_of(results), options=options)
    found.figure.draw_without_rendering()
    return found.figure.axes


def series(axes: Any, mark: str) -> list[Series]:
    return [one for one in series_of(axes) if one.mark == mark]


def legend_of(axes: Any) -> list[str]:
    legend = axes.get_legend() or axes.figure.legends[0]
    return [text.get_text() for text in legend.get_texts()]


def forward(result: sj.Result) -> pl.DataFrame:
    return result.packets.filter(pl.col("link") == "forward")


@pytest.mark.parametrize("name", figures.KINDS)
def test_a_kind_takes_the_options_that_its_line_names(name: str) -> None:
    parameters = list(inspect.signature(import_module(figures.KINDS[name].module).draw).parameters)
    assert parameters[:3] == ["results", "names", "sheet"]
    assert parameters[3:] == [figures.OPTIONS[option].argument for option in figures.KINDS[name].options]


@pytest.mark.parametrize("name", figures.KINDS)
def test_every_kind_takes_a_single_result(name: str) -> None:
    own = {"airtime": cell, "media": call}.get(name)
    assert drawn(name, [own() if own else run(probes__state="10 ms")])


def test_box_has_the_quantiles_of_all_seeds(study: list[sj.Result]) -> None:
    pair = study[-2:]
    sojourn, throughput = drawn("box", pair)  # two runs that differ only in the seed: two labels
    assert [text.get_text() for text in sojourn.get_yticklabels()] == ["seed 1", "seed 2"]
    both = [*study[:2], *study[-2:]]
    sojourn, throughput = drawn("box", both)
    for place, seeds in enumerate((both[:2], both[2:])):
        histogram = merged([one.histogram_of("forward") for one in seeds])
        low, q1, median, q3, high = (quantile(histogram, q) for q in (0.1, 0.25, 0.5, 0.75, 0.9))
        outline = sojourn.patches[place].get_path().vertices[:, 0]
        assert (outline.min(), outline.max()) == pytest.approx((q1, q3))
        ends = {x for line in sojourn.get_lines()[place * 5 : place * 5 + 5] for x in line.get_xdata()}
        assert ends == {low, q1, median, q3, high}
    assert sojourn.get_xlabel() == "sojourn time [ms]"
    steps = [one.utilisation.filter((pl.col("link") == "forward") & (pl.col("time_s") > 1)) for one in both[2:]]
    mbps = np.concatenate([8e-6 * table["bytes"].to_numpy() / 0.25 for table in steps])
    assert len(mbps) == 2 * 8
    outline = throughput.patches[1].get_path().vertices[:, 0]
    assert (outline.min(), outline.max()) == pytest.approx(tuple(np.quantile(mbps, (0.25, 0.75))))
    assert throughput.get_xlabel() == "throughput per step [Mbit/s]"


def test_box_shows_goodput_without_the_utilisation_probe_and_only_delay_without_both() -> None:
    _, right = drawn("box", [run(probes__utilisation="")])
    assert right.get_xlabel() == "goodput per step [Mbit/s]"
    assert len(drawn("box", [run(probes__utilisation="", probes__flows="")])) == 1


def test_utilisation_is_drawn_over_the_key_that_varies_most(study: list[sj.Result]) -> None:
    above, below = drawn("utilisation", study)
    assert below.get_xlabel() == "rate of the link [Mbit/s]"
    assert [tick.get_text() for tick in below.get_xticklabels()] == ["2", "5", "20"]
    assert (above.get_ylabel(), below.get_ylabel()) == ("utilisation [%]", "sojourn mean [ms]")
    assert legend_of(above) == ["droptail", "codel", "rtt 20 ms", "rtt 80 ms"]
    assert [one.name for one in series_of(above)] == [
        f"{aqm}, rtt {rtt}" for aqm in ("droptail", "codel") for rtt in ("20 ms", "80 ms")
    ]
    for axes, column, scale in ((above, "utilisation", 100), (below, "sojourn_mean_ms", 1)):
        line, _, [bars] = axes.containers[2].lines
        own = [[one.summary[column][0] * scale for one in study[at : at + 2]] for at in (12, 16, 20)]
        assert line.get_xdata().tolist() == [2, 5, 20]
        assert line.get_ydata() == pytest.approx([mean_ci(pair)[0] for pair in own])
        half = [(segment[1, 1] - segment[0, 1]) / 2 for segment in bars.get_segments()]
        assert half == pytest.approx([mean_ci(pair)[1] for pair in own])


def test_utilisation_against_a_chosen_parameter_and_metric(study: list[sj.Result]) -> None:
    axes = drawn("utilisation", study[:12], x="flows.0.rtt", metric="drop_rate")
    assert axes[1].get_xlabel() == "round-trip time [ms]"
    assert axes[1].get_ylabel() == "drops [%]"
    assert legend_of(axes[0]) == ["rate 2 Mbit/s", "rate 5 Mbit/s", "rate 20 Mbit/s"]


def test_many_lines_are_drawn_apart_by_load() -> None:
    rtts = ("10 ms", "20 ms", "40 ms", "80 ms")
    results = [run(link__aqm=aqm, flows__0__rtt=rtt) for aqm in ("droptail", "codel") for rtt in rtts]
    changed = [one.scenario.replace({"link.rate": "5 Mbit/s"}).run() for one in results]
    axes = drawn("utilisation", results + changed, x="link.rate")
    assert [one.get_title(loc="left") for one in axes[:4]] == [f"rtt {rtt}" for rtt in rtts]
    assert legend_of(axes[0]) == ["droptail", "codel"]
    for kind in ("drops", "cdf", "ccdf", "bytes", "ellipse"):
        panels = drawn(kind, results)
        assert [one.get_title(loc="left") for one in panels] == [f"rtt {rtt}" for rtt in rtts], kind
        assert legend_of(panels[0]) == ["droptail", "codel"]


def test_numbers_that_another_decides_are_no_difference() -> None:
    pairs = (("2 Mbit/s", "20 packets"), ("5 Mbit/s", "50 packets"), ("9 Mbit/s", "90 packets"))
    results = [run(link__aqm=a, link__rate=r, link__limit=n) for a in ("droptail", "codel") for r, n in pairs]
    [rate] = choose(results, [None])
    assert rate.path == "link.rate"
    assert [str(name) for name in rest_names(results, [rate])] == ["droptail"] * 3 + ["codel"] * 3
    assert names_of(results)[0] == Name("droptail", "limit 20 packets, rate 2 Mbit/s")
    rate, other = choose(results, [None, None])
    assert len(set(other.values)) == 1  # the limit would only add a diagonal


def test_a_parameter_of_the_queue_manager_can_be_swept() -> None:
    results = [run(link__aqm=f"codel target {target}") for target in ("2ms", "5ms", "20ms")]
    [target] = choose(results, [None])
    assert (target.path, target.label, target.shown) == ("link.aqm.target", "link.aqm.target [ms]", [2, 5, 20])
    assert rest_names(results, [target]) == [Name("codel")] * 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1.5 Mbit/s", (1.5e6, "bit/s")),
        ("20 ms", (0.02, "s")),
        ("1000 packets", (1000, "packets")),
        ("250000 B", (250000, "B")),
        (16, (16, "")),
        (True, None),
        ("10 Mbit/s@0 s,1 Mbit/s@2 s", None),
        (["1 s", "2 s"], None),
        ("codel", None),
        ("inf", None),
    ],
)
def test_quantities(value: object, expected: tuple[float, str] | None) -> None:
    assert quantity(value) == expected


def test_heatmap_has_the_mean_in_every_cell_and_one_scale(study: list[sj.Result]) -> None:
    *panels, bar = drawn("heatmap", study)
    assert [axes.get_title(loc="left") for axes in panels] == ["droptail", "codel"]
    assert [text.get_text() for text in panels[0].get_xticklabels()] == ["2", "5", "20"]
    assert [text.get_text() for text in panels[0].get_yticklabels()] == ["20", "80"]
    labels = [panels[0].get_xlabel(), panels[0].get_ylabel(), bar.get_ylabel()]  # long labels have several lines
    expected = ["rate of the link [Mbit/s]", "round-trip time [ms]", "sojourn mean [ms]"]
    assert [" ".join(label.split()) for label in labels] == expected
    images = [axes.collections[0] for axes in panels]
    assert images[0].norm is images[1].norm
    mean = mean_ci([one.summary["sojourn_mean_ms"][0] for one in study[14:16]])[0]
    assert images[1].get_array()[1, 0] == pytest.approx(mean)
    [cells] = series(panels[1], "cells")
    assert cells.columns["value"][(cells.columns["x"] == 2) & (cells.columns["y"] == 80)] == pytest.approx(mean)
    texts = {text.get_position(): float(text.get_text()) for text in panels[1].texts}
    assert texts[0, 1] == pytest.approx(mean, rel=0.005)


def test_heatmap_over_words_has_them_in_order_and_reads_from_the_top() -> None:
    study = Study.load(REPO / "scenarios" / "score" / "fairness.toml")
    assert len(study.points) == 4 * 6 * 6 * 3 * 6
    link = {"rate": "5 Mbit/s", "aqm": "codel"}
    runs = []
    for aqm, first, second in [
        (a, b, c) for a in ("codel", "pie") for b in ("reno", "cubic") for c in ("reno", "cubic")
    ]:
        flows = [{"kind": "tcp", "rtt": "20 ms", "cc": cc} for cc in (first, second)]
        runs.append(sj.Scenario.build({"duration": "2 s", "link": link | {"aqm": aqm}, "flows": flows}).run())
    *panels, _ = drawn("heatmap", runs, x="flows.0.cc", y="flows.1.cc", metric="goodput_bps")
    assert [axes.get_title(loc="left") for axes in panels] == ["codel", "pie"]
    for axes in panels:
        assert [text.get_text() for text in axes.get_xticklabels()] == ["cubic", "reno"]
        assert [text.get_text() for text in axes.get_yticklabels()] in (["cubic", "reno"], [])
        assert axes.get_ylim() == (1.5, -0.5)
    [cells] = series(panels[1], "cells")
    of_pie = {
        (run.scenario.document["flows"][0]["cc"], run.scenario.document["flows"][1]["cc"]): run for run in runs[4:]
    }
    for first, second, value in zip(cells.columns["x"], cells.columns["row"], cells.columns["value"], strict=True):
        assert value == pytest.approx(of_pie[first, second].summary["goodput_bps"][0] * 1e-6)


def test_heatmap_marks_missing_runs(study: list[sj.Result]) -> None:
    axes = drawn("heatmap", study[:10], x="flows.0.rtt", y="link.rate", metric="utilisation")[0]
    assert [text.get_text() for text in axes.texts].count("–") == 1


def test_colours_are_logarithmic_over_decades_only() -> None:
    assert isinstance(common_norm([np.array([1.0, 100.0])]), LogNorm)
    assert not isinstance(common_norm([np.array([0.0, 100.0])]), LogNorm)
    assert not isinstance(common_norm([np.array([1.0]), np.array([20.0])]), LogNorm)
    assert common_norm([np.array([np.nan])]).vmax == 1


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (99.8, 100.0, (90.0, 100.0)),  # the axis must not exaggerate the loss
        (0.2, 0.5, (0.0, 10.0)),
        (61.3, 62.1, (56.7, 66.7)),
        (3.1, 88.0, (3.1, 88.0)),
        (0.0, 100.0, (0.0, 100.0)),
        (96.1, 97.3, (90.0, 100.0)),
    ],
)
def test_an_axis_of_shares_shows_ten_points_at_least(low: float, high: float, expected: tuple[float, float]) -> None:
    assert scales.share_span(low, high, 100.0) == pytest.approx(expected)
    assert scales.share_span(low / 100, high / 100, 1.0) == pytest.approx([end / 100 for end in expected])
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    scales.fit_axis(axes, [low, high], whole=100.0)
    bottom, top = axes.get_ylim()
    assert 0 <= bottom <= low and top >= high and top - bottom >= 10
    norm = common_norm([np.array([low, high])], 100.0)
    assert norm.vmax - norm.vmin >= 10 - 1e-9 and norm.vmin >= 0 and norm.vmax <= 100


def test_small_shares_have_no_logarithmic_axis() -> None:
    """Drop rates of 0.4 % and 0.002 % are both small shares of all packets."""
    assert not isinstance(common_norm([np.array([0.002, 0.4])], 100.0), LogNorm)
    assert isinstance(common_norm([np.array([0.02, 26.0])], 100.0), LogNorm)


def test_utilisation_of_a_hundredth_less_does_not_look_like_a_collapse() -> None:
    link = {"rate": "7.3 Mbit/s", "aqm": "codel", "limit": "70 packets"}
    runs = []
    for aqm, rate in [(aqm, rate) for aqm in ("codel", "droptail") for rate in ("7.3 Mbit/s", "11.9 Mbit/s")]:
        text = {"duration": "9 s", "warmup": "4 s", "link": link | {"aqm": aqm, "rate": rate}}
        flows = [{"kind": "tcp", "rtt": "23 ms", "count": 3}]
        runs.append(sj.Scenario.build({**text, "flows": flows}).run())
    shares = [100 * run.summary["utilisation"][0] for run in runs]
    assert 0 < max(shares) - min(shares) < 3
    for metric in ("sojourn_mean_ms", "drop_rate", "jain"):
        above, below = drawn("utilisation", runs, metric=metric)[:2]
        assert above.get_ylim()[1] - above.get_ylim()[0] >= 10
        if metric != "sojourn_mean_ms":
            assert below.get_ylim()[1] - below.get_ylim()[0] >= (10 if metric == "drop_rate" else 0.1)


def test_ellipse_is_the_contour_of_the_covariance() -> None:
    points = np.random.default_rng(1).normal(size=(500, 2)) @ np.array([[3.0, 1.0], [0.0, 0.5]]) + [20, 5]
    inverse = np.linalg.inv(np.cov(points.T, ddof=0))
    away = ellipse(points) - points.mean(axis=0)
    assert np.einsum("ij,jk,ik->i", away, inverse, away) == pytest.approx(np.ones(len(away)))
    assert ellipse(points[:1]) == pytest.approx(np.repeat(points[:1], 120, axis=0))


def test_ellipses_are_over_seeds_or_flows(study: list[sj.Result], codel: sj.Result) -> None:
    [axes] = drawn("ellipse", [*study[:2], *study[12:14]])
    assert axes.xaxis_inverted()
    assert axes.get_ylabel() == "goodput [Mbit/s]"
    assert legend_of(axes) == ["droptail", "codel"]
    points = axes.collections[1].get_offsets()
    assert points.data == pytest.approx(np.concatenate([points_of_run(one) for one in study[12:14]]))
    shown = series(axes, "points")[1].columns
    assert np.column_stack([shown["x"], shown["y"]]) == pytest.approx(points.data)
    assert points_of_run(codel)[0] == pytest.approx(
        [codel.summary["sojourn_mean_ms"][0], codel.summary["goodput_bps"][0] / 1e6]
    )
    [axes] = drawn("ellipse", study[:2], over="flows")
    assert axes.get_ylabel() == "goodput of a flow [Mbit/s]"
    [axes] = drawn("ellipse", [codel])
    assert len(axes.collections[0].get_offsets()) == 2  # its flows


def test_flows_are_read_by_their_own_packets(codel: sj.Result) -> None:
    points = points_of_flows(codel)
    assert points[:, 1].sum() == pytest.approx(codel.summary["goodput_bps"][0] / 1e6)
    sent = forward(codel).filter(~dropped() & (pl.col("time_s") >= 1))
    means = [sent.filter(pl.col("flow") == flow)["sojourn_ms"].mean() for flow in (0, 1)]
    assert points[:, 0] == pytest.approx(means)
    assert means[0] != pytest.approx(means[1])


def test_drops_are_smoothed(codel: sj.Result) -> None:
    [axes] = drawn("drops", [codel], memory="100 ms")
    line = axes.get_lines()[0]
    times = forward(codel).filter(dropped())["time_s"].to_numpy()
    assert len(times) > 5
    assert line.get_ydata() == pytest.approx(tewma(times, line.get_xdata(), 0.1))
    # Each drop adds an area of one; the part after the end of the run is small.
    late = np.exp(-(3 - times) / 0.1).sum()
    assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(len(times) - late, rel=0.05)
    below = axes.figure.get_supxlabel()
    assert "drop rate: TEWMA with a memory of 0.1 s" in below and NOTE in below
    [axes] = drawn("drops", [codel], **{"from": "2 s", "to": "2.5"})
    line = axes.get_lines()[0]
    assert axes.get_xlim() == (2, 2.5)
    assert line.get_ydata()[0] == pytest.approx(tewma(times, np.array([2.0]))[0])


def test_window_shows_its_packets_and_drops(codel: sj.Result) -> None:
    [axes] = drawn("window", [codel], **{"from": "500 ms", "to": "1.5"})
    inside = forward(codel).filter(pl.col("time_s").is_between(0.5, 1.5, closed="left"))
    lost = inside.filter(dropped()).height
    assert lost > 0
    assert axes.get_lines()[0].get_ydata() == pytest.approx(inside.filter(~dropped())["sojourn_ms"].to_numpy())
    assert len(axes.collections[0].get_segments()) == lost
    assert axes.get_title(loc="right") == f"{lost} drop{'s' * (lost > 1)} (vertical lines)"
    assert axes.get_lines()[1].get_ydata() == [5, 5]  # CoDel's target
    assert axes.get_xlim() == (0.5, 1.5)
    assert drawn("window", [codel])[0].get_xlim() == (1.5, 2.5)
    assert len(drawn("window", [run(link__aqm="droptail")])[0].get_lines()) == 1  # no target


def test_bytes_end_at_the_bytes_sent(codel: sj.Result) -> None:
    droptail = run(link__aqm="droptail")
    [axes] = drawn("bytes", [droptail, codel])
    assert axes.get_ylabel() == "bytes sent [MB]"
    lines = [line for line in axes.get_lines() if line.get_gid() != GID]
    for line, result in zip(lines, (droptail, codel), strict=True):
        sent = forward(result).filter(~dropped())
        assert line.get_ydata()[-1] == pytest.approx(sent["bytes"].sum() / 1e6)
        assert line.get_ydata()[500] == pytest.approx(sent.filter(pl.col("time_s") <= 1.5)["bytes"].sum() / 1e6)


def test_rates_count_every_arrival_and_departure(codel: sj.Result) -> None:
    arriving, leaving, edges = rates(codel, 0.7)
    assert edges == pytest.approx([0, 0.7, 1.4, 2.1, 2.8, 3])
    waiting = codel.waiting.filter(pl.col("link") == "forward")
    assert (arriving * np.diff(edges)).sum() / 8e-6 == pytest.approx(
        forward(codel)["bytes"].sum() + waiting["bytes"].sum()
    )
    assert (leaving * np.diff(edges)).sum() / 8e-6 == pytest.approx(forward(codel).filter(~dropped())["bytes"].sum())
    [axes] = drawn("rates", [codel], step="0.7 s")
    capacity, egress, above, ingress = (patch for patch in axes.patches if patch.get_gid() != GID)
    assert capacity.get_data().values.tolist() == [10]
    assert egress.get_data().values == pytest.approx(leaving)
    assert above.get_data().values == pytest.approx(np.maximum(arriving, leaving))
    assert above.get_data().baseline == pytest.approx(leaving)
    assert ingress.get_data().values == pytest.approx(arriving)
    assert legend_of(axes) == ["capacity", "egress", "ingress above egress: queued or dropped", "ingress"]


def test_capacity_follows_schedules_and_traces(tmp_path: Path) -> None:
    steps = run(link__rate="8mbit@0s,2mbit@1s")
    assert drawn("rates", [steps])[0].patches[0].get_data().values.tolist() == [8, 2]
    (tmp_path / "x.down").write_text("250\n500\n500\n")
    sets = PROBES | {"link.rate": "", "link.trace": str(tmp_path / "x.down"), "reverse.rate": "1 Mbit/s"}
    traced = sj.Scenario.parse(SHORT, sets).run()
    values = drawn("rates", [traced], step="500 ms")[0].patches[0].get_data().values
    # Steps include their start: the opportunities at 500 ms fall into the second one, those at 3 s into the last.
    one = 1500 * 8 / 0.5 / 1e6
    assert values == pytest.approx([one, 3 * one, 3 * one, 3 * one, 3 * one, 5 * one])


def test_capacity_of_a_random_link_is_measured() -> None:
    random = {"link__rate": "", "link__cox": "6 Mbit/s", "reverse__rate": "1 Mbit/s"}
    result = run(**random)
    table = result.utilisation.filter(pl.col("link") == "forward")
    found = measured_capacity(result)
    assert found is not None
    for mbps, share, size in zip(found[0], table["utilisation"], table["bytes"], strict=True):
        assert mbps * share == pytest.approx(8e-6 * size / 0.25)
    [axes] = drawn("rates", [result])
    assert axes.patches[0].get_data().values == pytest.approx(found[0])
    [axes] = drawn("rates", [run(**random, probes__utilisation="")])
    assert len([patch for patch in axes.patches if patch.get_gid() != GID]) == 3
    assert "--set probes.utilisation" in axes.get_title(loc="right")


def test_results_of_a_folder_come_in_the_order_of_their_study_or_of_their_numbers(tmp_path: Path) -> None:
    study = '[sweep]\n"link.rate" = ["10 Mbit/s", "2 Mbit/s", "5 Mbit/s"]\n"flows.0.rtt" = ["100 ms", "20 ms"]\n'
    (tmp_path / "study.toml").write_text(SHORT + study)
    sj.Study.load(tmp_path / "study.toml").run(tmp_path / "out")
    swept = parameters(load_all([tmp_path / "out"]))
    assert swept["link.rate"].values == [10e6] * 2 + [2e6] * 2 + [5e6] * 2
    (tmp_path / "out" / ".order").unlink()
    swept = parameters(load_all([tmp_path / "out"]))
    assert swept["link.rate"].values == [2e6] * 2 + [5e6] * 2 + [10e6] * 2
    assert swept["flows.0.rtt"].shown == [20, 100] * 3


BAD = {
    "an option of another kind": (["utilisation", "--memory", "1 s"], "--memory: the figure kind utilisation"),
    "its own options": (["window", "--x", "link.rate"], "it accepts --from and --to"),
    "no such key": (["utilisation", "--x", "link.rat"], 'did you mean "link.rate"?'),
    "a key that is text": (["heatmap", "--x", "link.aqm"], "link.aqm: not a number of one unit in all results"),
    "twice the same key": (["heatmap", "--x", "link.rate", "--y", "link.rate"], "link.rate: given for both axes"),
    "no such metric": (["heatmap", "--metric", "sojourn_p999_ms"], 'did you mean "sojourn_p99_ms"?'),
    "a metric that is text": (["heatmap", "--metric", "fingerprint"], 'metric "fingerprint" is unknown'),
    "no such points": (["ellipse", "--over", "seed"], 'did you mean "seeds"?'),
    "a window after the run": (["window", "--from", "5", "--to", "6"], "outside of a run of 3 s"),
    "a window backwards": (["window", "--from", "2 s", "--to", "1 s"], "--from 2 --to 1"),
    "a span after the run": (["drops", "--from", "3"], "--from 3 --to 3: outside of a run of 3 s"),
    "no number": (["window", "--from", "noon"], "--from: "),
    "nan": (["window", "--from", "nan"], "--from: "),
    "negative": (["window", "--from", "-1"], "--from: "),
    "no such flow": (
        ["sequence", "--flow", "7"],
        "--flow 7: has no TCP sender that has sent anything; expected one of 0, 1",
    ),
    "two flows": (["sequence", "--flow", "0,1"], "--flow: a panel shows one flow; write e.g. --flow 0"),
    "no flow": (["pacing", "--flow", "one"], '--flow: "one" is not a list of numbers; write e.g. --flow 0,1'),
    "no memory": (["drops", "--memory", "0"], "--memory: is zero"),
    "too small a step": (["rates", "--step", "1 us"], "--step 1e-06: must lie between 0.0006 and 3 s"),
    "no step": (["rates", "--step", "0"], "--step 0: must lie between"),
    "too large a step": (["rates", "--step", "10"], "--step 10: must lie between"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_are_refused_in_one_line(cli: Cli, scenario_file: Path, case: str) -> None:
    (kind, *options), expected = BAD[case]
    probes = ("--set", "probes.packets=true", "--set", "probes.senders=true")
    folder = printed_json(cli("run", scenario_file, *probes, "--json"))["folder"]
    refused = cli("plot", kind, folder, *options)
    assert refused.exit_code == 2, refused.output
    assert expected in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert not Path(f"{kind}.png").exists()


@pytest.mark.parametrize("kind", ["drops", "window", "bytes", "rates", "ellipse"])
def test_without_packets_the_probe_is_named(cli: Cli, scenario_file: Path, kind: str) -> None:
    folder = printed_json(cli("run", scenario_file, "--json"))["folder"]
    refused = cli("plot", kind, folder)
    assert refused.exit_code == 2
    assert "--set probes.packets=true" in refused.stderr


@pytest.mark.parametrize("kind", ["sequence", "pacing"])
def test_without_senders_the_probe_is_named(cli: Cli, scenario_file: Path, kind: str) -> None:
    folder = printed_json(cli("run", scenario_file, "--json"))["folder"]
    refused = cli("plot", kind, folder)
    assert refused.exit_code == 2
    assert "--set probes.senders=true" in refused.stderr


def test_help_names_each_option_with_its_kinds(cli: Cli) -> None:
    text = " ".join(cli("plot", "--help").output.split())
    assert "--x PATH For utilisation, heatmap: numeric key on the horizontal axis" in text
    assert all(f"{name}: {kind.about.split()[0]}" in text for name, kind in figures.KINDS.items())


QUEUES = ("shared", "airtime")


def test_airtime_is_a_bar_per_station_in_two_parts_per_label() -> None:
    runs = [cell(), cell(2), cell(link__aqm="codel")]
    panels = drawn("airtime", runs)
    assert [axes.get_title(loc="left") for axes in panels] == ["droptail", "codel"]
    down, up = ([bar.get_width() for bar in part] for part in panels[0].containers)
    expected = [run.totals["wlan"]["stations"] for run in runs[:2]]
    assert up == pytest.approx([50 * (a["airtime"] + b["airtime"]) for a, b in zip(*expected, strict=True)])
    assert down == pytest.approx([50 * (a["airtime_down"] + b["airtime_down"]) for a, b in zip(*expected, strict=True)])
    # Equal packet rates: the slow station uses most of the airtime, and only it uploads.
    assert down[1] + up[1] > 3 * (down[0] + up[0]) and up[0] < down[0]
    assert 60 < sum(down) + sum(up) < 110
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["station 0", "station 1"]
    assert legend_of(panels[0]) == ["to the station", "from the station"]


def test_airtime_of_cells_that_differ_in_their_queues() -> None:
    stations = [{"rate": "mcs15"}, {"rate": "mcs0", "count": 2}]
    runs = [cell(wlan__stations=stations, wlan__queues=queues, link__below="2 packets") for queues in QUEUES]
    panels = drawn("airtime", runs)
    assert [axes.get_title(loc="left") for axes in panels] == [f"queues {queues}" for queues in QUEUES]
    shares = [result.totals["wlan"]["stations"][0]["airtime_down"] for result in runs]
    assert shares[0] < shares[1], "one queue for all slows the fast station"
    counts = [cell(wlan__stations=[{"count": count}], flows__1__station=0) for count in (1, 2)]
    assert [str(name) for name in names_of(counts)] == ["1 station", "2 stations"]


def test_airtime_needs_a_wireless_lan() -> None:
    with pytest.raises(sj.InputError, match=r"not a wireless LAN and has no airtime; describe one in \[wlan\]"):
        drawn("airtime", [run()])


def test_aggregates_of_a_wireless_lan() -> None:
    result = cell(wlan__stations=[{"rate": "mcs7", "aggregate": 8}, {}], probes__accesses=True)
    nodes, accesses = result.nodes, result.accesses
    assert nodes["aggregates"][2] is None and nodes["aggregates"][1] > 100
    own = accesses.filter(pl.col("node") == 1)
    assert (own["frames"].sum(), own["frames"].max()) == (nodes["aggregated"][1], 8)
    assert nodes["failed"][1] == (own["frames"] - own["acknowledged"]).sum()
    assert result.totals["wlan"]["stations"][0]["rates"] == [
        {"mbit_per_s": 65.0, "mcs": 7, "attempts": nodes["attempts"][1]}
    ]


def test_senders_of_a_wireless_lan_and_their_packets() -> None:
    result = cell(probes__accesses=True)
    nodes = result.nodes
    assert nodes["node"].to_list() == ["access point", "station 0", "station 1"]
    counted = result.accesses.group_by("node").agg(pl.len(), (pl.col("outcome") == "collided").sum().alias("collided"))
    assert nodes["attempts"].to_list() == counted.sort("node")["len"].to_list()
    assert nodes["collisions"].to_list() == counted.sort("node")["collided"].to_list()
    assert (nodes["mac_p50_ms"] > 0.1).all() and nodes["ring_mean_ms"][0] > 1
    assert result.links["link"].to_list() == ["forward", "reverse"]
    assert set(result.histogram["link"]) == {"forward", "station 0", "station 1"}
    with pytest.raises(sj.InputError, match="is not a wireless LAN"):
        _ = run().nodes


@pytest.mark.parametrize("unit", ["packets", "bytes", "ms"])
def test_the_queue_is_the_same_from_samples_and_from_packets(unit: str) -> None:
    """At each sample of the probe the queue length equals arrivals minus departures."""
    link = {"rate": "7.3 Mbit/s", "aqm": "codel", "limit": "83 packets"}
    flows = [{"kind": "tcp", "rtt": "23 ms", "count": 3}, {"kind": "cbr", "rate": "300 kbit/s", "size": "113 B"}]
    base = sj.Scenario.build({"duration": "4 s", "link": link, "flows": flows, "probes": {"packets": True}})
    exact = length_of(base.run(9), unit)
    sampled = length_of(base.replace({"probes.queue": "7.1 ms", "probes.packets": False}).run(9), unit)
    assert sampled.height == 563 and exact["value"].max() > 5
    # A sample includes events at its own time; times in seconds are rounded.
    places = np.searchsorted(exact["time_s"].to_numpy(), sampled["time_s"].to_numpy() + 1e-9, side="right") - 1
    expected = np.where(places < 0, 0.0, exact["value"].to_numpy()[places.clip(0)])
    assert sampled["value"].to_numpy() == pytest.approx(expected, abs=1e-9)


def test_the_queue_has_its_unit_and_its_limit() -> None:
    base = {"duration": "3 s", "flows": [{"kind": "cbr", "rate": "9 Mbit/s"}], "probes": {"packets": True}}
    run = sj.Scenario.build({**base, "link": {"rate": "5 Mbit/s", "limit": "70 packets"}}).run()
    [axes] = drawn("queue", [run])
    assert axes.get_ylabel() == "queue [packets]" and axes.get_xlim() == (0, 3)
    assert max(axes.lines[0].get_ydata()) == 70 and "limit" in [one.name for one in series_of(axes)]
    [axes] = drawn("queue", [run], unit="bytes")
    assert axes.get_ylabel() == "queue [kB]" and max(axes.lines[0].get_ydata()) == pytest.approx(105)
    [axes] = drawn("queue", [run], unit="ms")
    assert axes.get_ylabel() == "sojourn [ms]" and max(axes.lines[0].get_ydata()) == pytest.approx(168, rel=0.01)
    with pytest.raises(sj.InputError, match='--unit: unit "m" is unknown; did you mean "ms"'):
        drawn("queue", [run], unit="m")
    with pytest.raises(sj.InputError, match=r"no table 'queue'; run it again with --set probes\.queue="):
        drawn("queue", [sj.Scenario.build({**base, "probes": {}, "link": {"rate": "5 Mbit/s"}}).run()])
