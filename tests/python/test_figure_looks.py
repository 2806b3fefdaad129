"""How every figure can look: size, font, colours, labels; and that what is drawn is what is written."""

from __future__ import annotations

import ast
import io
import json
import math
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator

import sojourn as sj
from conftest import REPO, SHORT, Cli, printed_json
from sojourn.analysis.labels import Name, names_of
from sojourn.base.latex import latex
from sojourn.figures import KINDS, PALETTES, PRESETS
from sojourn.figures.api import Drawn, draw
from sojourn.figures.channels import Channels, facets
from sojourn.figures.data import column_of, plotted_axes, table
from sojourn.figures.look import Look
from sojourn.figures.marks import series_of
from test_figure_kinds import cell

PROBES = {"probes.packets": True, "probes.state": "10 ms", "probes.utilisation": "250 ms"}
LONG = "codel target 7ms interval 90ms"
COLUMNS = {"ieee-column": 3.5, "acm-column": 3.33}
"""Width in inches by preset."""


@pytest.fixture(scope="module")
def study() -> list[sj.Result]:
    """Three queue managers, one with a long name, under two loads."""
    base = sj.Scenario.parse(SHORT, PROBES)
    return [
        base.replace({"link.aqm": aqm, "flows.0.count": count}).run()
        for aqm in ("droptail", LONG, "pie@draft00")
        for count in (1, 7)
    ]


@pytest.fixture(scope="module")
def airtime() -> list[sj.Result]:
    return [cell(), cell(link__aqm="codel")]


@pytest.fixture(scope="module")
def everything(study: list[sj.Result], airtime: list[sj.Result]) -> dict[str, list[sj.Result]]:
    """Results that each kind can draw."""
    return {kind: airtime if kind == "airtime" else study for kind in KINDS}


def drawn(kind: str, results: list[sj.Result], look: Look | None = None, **options: str) -> Drawn:
    found, _ = draw(kind, results, names_of(results), look=look, options=options)
    found.figure.draw_without_rendering()
    return found


def texts(figure: Any) -> list[Text]:
    """Texts of a figure that can be seen, without those of ticks beyond the limits."""
    unseen: set[int] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            unseen |= {
                id(label) for tick in (*axis.majorTicks, *axis.minorTicks) for label in (tick.label1, tick.label2)
            }
            if axes.axison:
                unseen -= {id(label) for tick in axis._update_ticks() for label in (tick.label1, tick.label2)}
    found = [one for one in figure.findobj(Text) if id(one) not in unseen]
    return [one for one in found if one.get_visible() and one.get_text().strip()]


# Presets: what a paper asks for.


@pytest.mark.parametrize("preset", ["ieee-column", "slide", None])
@pytest.mark.parametrize("kind", KINDS)
def test_no_text_is_small_cut_or_hidden(kind: str, preset: str | None, everything: dict[str, list[sj.Result]]) -> None:
    """In a column of a paper text has 7 pt at least; nowhere is it cut, and titles, labels and legends do not meet."""
    _check_texts(drawn(kind, everything[kind], Look.of(style=preset or ())).figure, preset)


def test_the_other_column_holds_names_and_numbers_too(everything: dict[str, list[sj.Result]]) -> None:
    for kind in ("box", "heatmap", "comparison"):
        _check_texts(drawn(kind, everything[kind], Look.of(style="acm-column")).figure, "acm-column")


def test_labels_and_titles_are_as_long_as_their_panel(study: list[sj.Result]) -> None:
    """Rows of a heatmap are low, and "rate of the link [Mbit/s]" is long."""
    base = study[0].scenario
    runs = [
        base.replace({"link.aqm": aqm, "link.rate": rate, "flows.0.count": count}).run()
        for aqm in ("codel", "droptail", "pie")
        for rate in ("2.3 Mbit/s", "10 Mbit/s")
        for count in (1, 4)
    ]
    for preset in COLUMNS:
        found = drawn("heatmap", runs, Look.of(style=preset), x="flows.0.count")
        _check_texts(found.figure, preset)
        assert any("rate of" in axes.get_ylabel() for axes in found.figure.axes)
        _check_texts(drawn("ccdf", runs, Look.of(style=preset, legend="right")).figure, preset)


def _check_texts(figure: Any, preset: str | None) -> None:
    found = texts(figure)
    assert len(found) > 5
    if preset in COLUMNS:
        assert figure.get_size_inches()[0] == COLUMNS[preset]
    small = {one.get_text(): one.get_fontsize() for one in found if one.get_fontsize() < 7}
    assert not small, small
    wide, high = figure.get_size_inches() * figure.dpi
    for one in found:
        box = one.get_window_extent()
        inside = box.x0 > -2 and box.x1 < wide + 2 and box.y0 > -2 and box.y1 < high + 2
        assert inside, f"{one.get_text()!r} is cut: {box} in {wide} × {high}"
    apart = list(_apart(figure))
    for place, (name, box) in enumerate(apart):
        for other, second in apart[:place]:
            assert not box.shrunk(0.98, 0.8).overlaps(second.shrunk(0.98, 0.8)), f"{name!r} meets {other!r}"


def _apart(figure: Any) -> Iterator[tuple[str, Any]]:
    """What must not meet, with its place."""
    for axes in figure.axes:
        for loc, title in (("left", axes._left_title), ("right", axes._right_title)):
            if axes.get_title(loc=loc).strip():
                lines, box = title.get_text().split("\n"), title.get_window_extent()
                # A title above a remark ends with an empty line.
                yield lines[0], box if lines[-1] else box.from_extents(box.x0, box.y1 - 6, box.x1, box.y1)
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_label_text():
                yield axis.get_label_text(), axis.label.get_window_extent()
    for legend in figure.legends:
        yield "legend", legend.get_window_extent()


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_stand_in_the_help_and_change_the_figure(preset: str, study: list[sj.Result], cli: Cli) -> None:
    assert preset in cli("plot", "--help").output
    one, other = drawn("cdf", study, Look.of(style=preset)).figure, drawn("cdf", study).figure
    sizes = [tuple(figure.get_size_inches()) for figure in (one, other)]
    assert sizes[0] != sizes[1] or one.get_facecolor() != other.get_facecolor()


def luminance(color: str) -> float:
    """Relative luminance after WCAG 2."""
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in to_rgb(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_curves_of_the_dark_preset_stand_out_from_its_ground() -> None:
    rc = Look.of(style="dark").rc
    ground = luminance(rc["axes.facecolor"])
    for color in rc["axes.prop_cycle"].by_key()["color"]:
        assert (luminance(color) + 0.05) / (ground + 0.05) > 4.5, color


# Size, font, colours, legend, title, labels.


def test_width_and_height(study: list[sj.Result], tmp_path: Path, cli: Cli) -> None:
    for width, inches in (("3.5in", 3.5), ("89 mm", 89 / 25.4), ("12cm", 12 / 2.54), ("252.945pt", 3.5), (4, 4.0)):
        assert drawn("cdf", study, Look.of(width=width)).figure.get_size_inches()[0] == pytest.approx(inches)
    figure = drawn("timeseries", study[:1], Look.of(width="5in", height="1.7in")).figure
    assert tuple(figure.get_size_inches()) == pytest.approx((5, 1.7))
    narrow = drawn("timeseries", study, Look.of(width="3.5in")).figure
    assert 0.5 < narrow.get_size_inches()[1] / drawn("timeseries", study).figure.get_size_inches()[1] < 1


def test_fonts(study: list[sj.Result]) -> None:
    figure = drawn("cdf", study, Look.of(font="STIXGeneral 12pt")).figure
    label = figure.axes[0].xaxis.label
    assert (label.get_fontname(), label.get_fontsize()) == ("STIXGeneral", 12)
    ticks = drawn("cdf", study, Look.of(font=18)).figure.axes[0].get_xticklabels()
    assert ticks[0].get_fontsize() == 16  # the ticks' 8 pt of 9
    assert drawn("cdf", study, Look.of(font="serif")).figure.axes[0].xaxis.label.get_fontfamily() == ["serif"]


def test_a_style_file_lies_on_top_of_the_presets(study: list[sj.Result], tmp_path: Path) -> None:
    file = tmp_path / "mine.mplstyle"
    file.write_text("lines.linewidth: 7\naxes.prop_cycle: cycler('color', ['ff0000', '00ff00'])\n")
    axes = drawn("cdf", study[::2], Look.of(style=["ieee-column", file])).figure.axes[0]
    assert [(line.get_linewidth(), line.get_color()) for line in axes.get_lines()][:2] == [
        (7, "#ff0000"),
        (7, "#00ff00"),
    ]
    assert axes.xaxis.label.get_fontsize() == 8
    drawn("cdf", study, Look.of(style="ggplot"))  # matplotlib's own


@pytest.mark.parametrize("palette", [*PALETTES, "viridis", "tab10", "#112233,red,#445566"])
def test_palettes(palette: str, study: list[sj.Result]) -> None:
    lines = drawn("cdf", study[::2], Look.of(palette=palette)).figure.axes[0].get_lines()
    assert len({line.get_color() for line in lines}) == 3
    if palette.startswith("#"):
        assert [line.get_color() for line in lines] == ["#112233", "#ff0000", "#445566"]


@pytest.mark.parametrize("kind", ["rates", "airtime", "window"])
def test_areas_differ_with_a_single_colour_too(kind: str, everything: dict[str, list[sj.Result]]) -> None:
    axes = drawn(kind, everything[kind][-1:], Look.of(palette="#222222")).figure.axes[0]
    if kind == "window":
        looks = {axes.get_lines()[0].get_color(), str(axes.collections[0].get_color())}
    else:
        looks = {str(patch.get_facecolor()) for patch in axes.patches if patch.get_fill()}
    assert len(looks) > 1


def test_legends(study: list[sj.Result]) -> None:
    assert not drawn("cdf", study, Look.of(legend="none")).figure.legends
    for place in ("above", "below", "right"):
        [legend] = drawn("cdf", study, Look.of(legend=place)).figure.legends
        assert [text.get_text() for text in legend.get_texts()] == [
            "droptail",
            LONG,
            "pie@draft00",
            "1 flow",
            "7 flows",
        ]
    figure = drawn("cdf", study, Look.of(legend="upper left")).figure
    assert not figure.legends and len(figure.axes[0].get_legend().get_texts()) == 5


def test_title_and_labels(study: list[sj.Result]) -> None:
    labels = {"pie@draft00": "PIE", "share of packets": "F(x)", "7 flows": "N = 7"}
    found = drawn("cdf", study, Look.of(title="A title", labels=labels))
    shown = {one.get_text() for one in texts(found.figure)}
    assert {"A title", "PIE", "F(x)", "N = 7"} <= shown
    assert not shown & labels.keys()
    assert set(found.data["series"]) >= {"PIE, 1 flow", "PIE, N = 7"}
    assert "f_x" in found.data.columns
    boxes = drawn("box", study, Look.of(labels=["pie@draft00=PIE"])).figure.axes[0]
    assert [text.get_text() for text in boxes.get_yticklabels()][-2:] == ["PIE, 1 flow", "PIE, 7 flows"]
    panels = drawn("timeseries", study, Look.of(labels=["pie@draft00=PIE"])).figure.axes
    assert panels[-1].get_title(loc="left") == "PIE, 7 flows"


BAD = {
    "no length": (["--width", "3.5 parsec"], '--width: "3.5 parsec" is no length; write e.g. 3.5in'),
    "no width": (["--width", "0"], "out of range; from 1 to 60 in"),
    "no font": (["--font", "Tims New Roman"], '--font: no font "Tims New Roman" is installed'),
    "no size": (["--font", "serif 300"], "300 pt is out of range"),
    "no style": (["--style", "ieee"], 'style "ieee" is unknown; did you mean "ieee-column"?'),
    "no file": (["--style", "mine.mplstyle"], "mine.mplstyle: no such file"),
    "no palette": (["--palette", "okabe"], '"okabe" is neither a palette nor a colour'),
    "no place": (["--legend", "uper left"], 'did you mean "upper left"?'),
    "no pair": (["--label", "codel"], '"codel" names no text and its replacement'),
    "no such label": (
        ["--label", "codle=CoDel"],
        'the figure has no text "codle"; its texts are codel, sojourn time [ms]',
    ),
    "two formats": (["--format", "csv", "-o", "x.png"], "ends in .png, but --format says csv"),
    "no format": (["-o", "x.gif"], "end the name in .png, .svg, .pdf, .pgf, .csv or .json"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_looks_are_refused_in_one_line(case: str, cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    options, expected = BAD[case]
    folder = printed_json(cli("run", scenario_file, "--json"))["folder"]
    before = set(tmp_path.iterdir())
    refused = cli("plot", "cdf", folder, *options)
    assert refused.exit_code == 2, refused.output
    assert expected in refused.stderr and len(refused.stderr.splitlines()) == 1
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("line", ["lines.linwidth: 3", "font.size: many", "what"])
def test_a_wrong_style_file_is_refused(line: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.mplstyle"
    file.write_text(f"font.size: 8\n{line}\n")
    with pytest.raises(sj.InputError, match=r"--style: .*; correct or delete that line"):
        Look.of(style=file)


def test_every_command_that_draws_has_the_options(cli: Cli) -> None:
    for command in (["plot"], ["compare"], ["trace", "plot"]):
        text = cli(*command, "--help").output
        for option in ("width", "height", "font", "style", "label", "title", "palette", "legend", "format"):
            assert f"--{option} " in text or f"--{option}," in text, (command, option)
    assert "--style" in cli("reproduce", "--help").output


# The plotted data.


def _data_artists(axes: Any) -> list[Any]:
    """What shows data: not the frame, nor separators drawn over the whole height."""
    return [*axes.lines, *axes.collections, *axes.patches, *axes.images]


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_is_drawn_is_in_the_data(kind: str, everything: dict[str, list[sj.Result]]) -> None:
    found = drawn(kind, everything[kind])
    panels = plotted_axes(found.figure)
    assert panels
    for axes in panels:
        recorded = [artist for one in series_of(axes) for artist in one.artists]
        forgotten = [artist for artist in _data_artists(axes) if not any(artist is other for other in recorded)]
        assert not forgotten
    assert found.data.height == sum(len(column) for axes in panels for column in map(_length, series_of(axes)))
    assert all(re.fullmatch(r"[0-9A-Za-z_]+", column) for column in found.data.columns)


def _length(series: Any) -> Any:
    return next(iter(series.columns.values()))


def test_nothing_is_drawn_but_by_marks() -> None:
    methods = (
        "plot errorbar step stairs fill fill_between bar barh bxp boxplot scatter vlines hlines axhline pcolormesh"
    )
    forbidden = {*methods.split(), "imshow", "hist"}
    for file in [*(REPO / "python/sojourn/figures").glob("*.py"), *(REPO / "python/sojourn/papers").glob("**/*.py")]:
        if file.name == "marks.py":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in forbidden:
                target = node.func.value
                assert isinstance(target, ast.Name) and target.id == "marks", f"{file.name}:{node.lineno}"


def test_csv_and_json_hold_the_arrays_that_are_drawn(
    cli: Cli, study: list[sj.Result], tmp_path: Path, scenario_file: Path
) -> None:
    folder = printed_json(cli("run", scenario_file, "--set", "link.aqm=pie", "--json"))["folder"]
    assert "Figure: cdf.csv" in cli("plot", "cdf", folder, "--format", "csv").stdout
    data = pl.read_csv(tmp_path / "cdf.csv")
    assert data.columns == ["panel", "series", "mark", "sojourn_time_ms", "share_of_packets"]
    line = drawn("cdf", [sj.load(folder)]).figure.axes[0].get_lines()[0]
    assert data["sojourn_time_ms"].to_numpy() == pytest.approx(line.get_xdata())
    assert data["share_of_packets"].to_numpy() == pytest.approx(line.get_ydata())
    cli("plot", "cdf", folder, "-o", "x.json")
    [panel] = json.loads((tmp_path / "x.json").read_text())["panels"]
    assert (panel["x"], panel["y"]) == ("sojourn time [ms]", "share of packets")
    assert panel["series"][0]["y"] == pytest.approx(line.get_ydata())


def test_columns_are_named_by_quantity_and_unit() -> None:
    assert column_of("sojourn time [ms]") == "sojourn_time_ms"
    assert column_of("time to\ndrop_next [ms]") == "time_to_drop_next_ms"
    assert column_of("new_flow_\ncount") == "new_flow_count"
    assert column_of("mean sojourn time [ms], reversed") == "mean_sojourn_time_ms"
    assert column_of("goodput [Mbit/s]") == "goodput_mbps"
    assert column_of("utilisation [%]") == "utilisation_percent"


def test_confidence_intervals_are_in_the_data(study: list[sj.Result]) -> None:
    base = sj.Scenario.parse(SHORT)
    runs = [base.replace({"link.rate": rate}).run(seed) for rate in ("3 Mbit/s", "7 Mbit/s") for seed in (1, 2)]
    data = drawn("utilisation", runs).data
    delays = data.filter(pl.col("sojourn_mean_ms").is_not_null())
    assert data.columns[3:5] == ["rate_of_the_link_mbps", "utilisation_percent"]
    assert (delays["sojourn_mean_ms_high"] > delays["sojourn_mean_ms"]).all()
    assert delays["rate_of_the_link_mbps"].to_list() == [3, 7]


@pytest.mark.parametrize("suffix", ["svg", "pdf", "csv", "json"])
def test_every_kind_in_every_format(suffix: str, everything: dict[str, list[sj.Result]], tmp_path: Path) -> None:
    for kind in KINDS:
        path = draw(kind, everything[kind][-2:], names_of(everything[kind][-2:]))[0].save(tmp_path / f"{kind}.{suffix}")
        assert path.stat().st_size > 100


def test_text_in_svg_is_text(study: list[sj.Result], tmp_path: Path) -> None:
    text = drawn("cdf", study).save(tmp_path / "x.svg").read_text()
    for word in ("sojourn time [ms]", "share of packets", "pie@draft00"):
        assert f">{word}</text>" in text


# Channels.


def test_the_queue_manager_has_the_colour_and_the_load_the_line(study: list[sj.Result]) -> None:
    found = drawn("utilisation", study, x="flows.0.count").figure
    lines = drawn("cdf", study).figure.axes[0].get_lines()
    looks = {line.get_label(): (line.get_color(), str(line.get_linestyle())) for line in lines}
    assert len(set(looks.values())) == 6
    for aqm in ("droptail", LONG, "pie@draft00"):
        assert len({looks[f"{aqm}, {load}"][0] for load in ("1 flow", "7 flows")}) == 1
    for load in ("1 flow", "7 flows"):
        assert len({looks[f"{aqm}, {load}"][1] for aqm in ("droptail", LONG, "pie@draft00")}) == 1
    assert len({color for color, _ in looks.values()}) == 3
    assert [line.get_color() for line in found.axes[0].get_lines()[::3]][:1] == [looks["droptail, 1 flow"][0]]


@pytest.mark.parametrize("loads", [1, 2, 3])
@pytest.mark.parametrize("aqms", [1, 2, 7, 8, 15, 25])
def test_no_two_curves_look_alike(aqms: int, loads: int) -> None:
    names = [Name(f"aqm{a}", f"{b} flows" if loads > 1 else "") for a in range(aqms) for b in range(loads)]
    with mpl.rc_context(dict(Look().rc)):
        channels = Channels(names)
        for look in (channels.line, channels.marked):
            assert len({str(look(name)) for name in names}) == len(names)
        if aqms <= 7 and aqms > 1:
            assert len({channels.color(name) for name in names}) == aqms


def test_many_names_get_a_panel_per_load() -> None:
    names = [Name(f"aqm{a}", f"{b} flows") for a in range(3) for b in range(3)]
    assert list(facets(names)) == ["0 flows", "1 flows", "2 flows"]
    assert list(facets(names)["1 flows"].values()) == [Name("aqm0"), Name("aqm1"), Name("aqm2")]
    assert list(facets(names[:6])) == [""]
    assert list(facets([Name(f"aqm{a}") for a in range(20)])) == [""]


def test_too_many_panels_are_refused() -> None:
    one = sj.Scenario.parse(SHORT, {"probes.packets": True, "duration": "1100 ms"}).run()
    names = [Name(f"aqm{a}") for a in range(61)]
    with pytest.raises(sj.InputError, match=r"61 panels are more than a figure holds \(60\); name fewer results"):
        draw("timeseries", [one] * 61, names)


# What a figure says about itself.


def test_one_point_says_so(study: list[sj.Result]) -> None:
    single = drawn("utilisation", study[:1]).figure
    assert single.get_supxlabel().startswith("one point: link.rate is 10 Mbit/s in all results; sweep it")
    assert [text.get_text() for text in single.axes[1].get_xticklabels()] == ["droptail"]
    assert f"{100 * study[0].summary['utilisation'][0]:.1f}" in {text.get_text() for text in single.axes[0].texts}
    several = drawn("utilisation", study[::2]).figure  # targets differ, but each queue manager has its own
    assert several.get_supxlabel().startswith("one point per curve: link.rate is 10 Mbit/s")
    assert [text.get_text() for text in several.axes[1].get_xticklabels()] == ["droptail", LONG, "pie@draft00"]


def test_one_varying_key_says_so(study: list[sj.Result]) -> None:
    found = drawn("heatmap", study)
    [panel] = plotted_axes(found.figure)
    assert found.figure.get_supxlabel() == "only one number varies: flows.0.count"
    assert [text.get_text() for text in panel.get_yticklabels()] == ["droptail", LONG, "pie@draft00"]
    means = dict(
        zip(zip(found.data["row"], found.data["flows"], strict=True), found.data["sojourn_mean_ms"], strict=True)
    )
    assert means[LONG, 7.0] == pytest.approx(study[3].summary["sojourn_mean_ms"][0])
    assert drawn("heatmap", study[:1]).figure.get_supxlabel() == "no number varies; sweep one, such as link.rate"


def test_steps_of_a_packet_time_are_explained() -> None:
    slow = sj.Scenario.parse(SHORT, {"link.rate": "1 Mbit/s", "duration": "9 s"}).run()
    assert drawn("cdf", [slow]).figure.get_supxlabel() == "steps: a packet of 1500 B takes 12 ms to send"
    odd = slow.scenario.replace({"link.rate": "1.13 Mbit/s"}).run()
    assert drawn("cdf", [odd]).figure.get_supxlabel() == "steps: a packet of 1500 B takes 10.6 ms to send"
    full = slow.scenario.replace({"link.rate": "10 Mbit/s", "link.aqm": "droptail"}).run()
    assert "steps" not in drawn("cdf", [full]).figure.get_supxlabel()
    udp = {"kind": "poisson", "rate": "930 kbit/s", "size": "400 B"}
    scenario = {"duration": "20 s", "link": {"rate": "1 Mbit/s", "aqm": "droptail"}, "flows": [udp]}
    assert "steps" not in drawn("cdf", [sj.Scenario.build(scenario).run()]).figure.get_supxlabel()


def test_notes_can_be_left_to_the_caption(cli: Cli, scenario_file: Path, study: list[sj.Result]) -> None:
    assert drawn("box", study, Look.of(notes=False)).figure.get_supxlabel() == ""
    folder = printed_json(cli("run", scenario_file, "--json"))["folder"]
    shown = cli("plot", "box", folder, "--no-notes").stdout.splitlines()
    assert shown == ["Figure: box.png", "Note: box: quartiles, whiskers: 10 and 90 %"]


def test_a_single_curve_is_named(study: list[sj.Result]) -> None:
    for kind in ("cdf", "bytes", "drops", "ellipse"):
        assert drawn(kind, study[:1]).figure.axes[0].get_title(loc="left") == "droptail"


# Ticks.


def random_study(random_: random.Random, template: sj.Result) -> list[sj.Result]:
    """Results as of a study, with made-up numbers: near each other, tiny, huge, or all the same."""
    text, seeds = json.dumps(template.totals), random_.choice([1, 3])
    share = 10 ** random_.uniform(-6, 0)
    base, spread = 10 ** random_.uniform(-7, 8), 10 ** random_.uniform(-9, 0.5)
    rates = sorted({f"{random_.uniform(0.1, 900):.3f} Mbit/s" for _ in range(random_.randint(1, 4))})
    aqms = random_.sample(["droptail", "codel", "pie", "red", "sfq"], random_.randint(1, 2))

    def near(value: float) -> float:
        return value * (1 + spread * random_.uniform(-1, 1)) if random_.random() < 0.95 else value

    found = []
    for aqm in aqms:
        for rate in rates:
            scenario = template.scenario.replace({"link.aqm": aqm, "link.rate": rate})
            for seed in range(1, seeds + 1):
                totals = json.loads(text)
                link = totals["links"]["forward"]
                totals["goodput_bps"] = near(base * 1e6)
                link |= {
                    "utilisation": min(1.0, near(random_.choice([0.999_99, 0.97, 1.0]))),
                    "drop_rate": near(share),
                }
                link["sojourn_ms"] = {key: near(base) for key in link["sojourn_ms"]}
                upper = np.cumsum([near(base) * 1e6 / 7 for _ in range(20)])
                bins = {"link": [0] * 19, "lower_ns": upper[:-1], "upper_ns": upper[1:], "count": range(1, 20)}
                histogram = pl.DataFrame(bins)
                found.append(sj.Result(scenario, seed, totals, {"sojourn_histogram": lambda frame=histogram: frame}))
    return found


def test_axes_have_no_offset_over_200_random_studies(study: list[sj.Result], tmp_path: Path) -> None:
    """Every tick says its whole value: no "+9.999e1" beside the axis, and no power of ten."""
    (tmp_path / "quick.mplstyle").write_text("figure.constrained_layout.use: False\n")
    quick = Look.of(style=tmp_path / "quick.mplstyle")
    random_ = random.Random(13)
    kinds = ("utilisation", "utilisation", "heatmap", "ellipse", "cdf", "ccdf", "box")
    ticks = 0
    for number in range(200):
        kind = kinds[number % len(kinds)]
        metric = random_.choice(["goodput_bps", "drop_rate"])
        options = {"utilisation": {"metric": metric}, "ellipse": {"over": "seeds"}}.get(kind, {})
        results = random_study(random_, study[0])
        for axes in draw(kind, results, names_of(results), look=quick, options=options)[0].figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                axis._update_ticks()
                assert axis.get_major_formatter().get_offset() == "", (number, kind)
                ticks += sum(1 for _ in _checked_ticks(axis, (number, kind)))
    assert ticks > 2000


def _checked_ticks(axis: Any, about: object) -> Iterator[float]:
    """Positions of an axis's numbers, each of which says where it is, and no two of which are the same."""
    low, high = sorted(axis.get_view_interval())
    seen: dict[str, float] = {}
    for tick in axis.get_major_ticks():
        text, at = tick.label1.get_text().replace("\N{MINUS SIGN}", "-"), tick.get_loc()
        if not text or not low <= at <= high or not re.match(r"^[-≤$0-9]", text):
            continue
        number = float(text.lstrip("≤"))
        if text[0] != "≤" and not isinstance(axis.get_major_locator(), FixedLocator):
            assert math.isclose(number, at, rel_tol=2e-6, abs_tol=1e-6 * (high - low)), (about, text, at)
        assert text not in seen, (about, text)
        seen[text] = at
        yield at


# Python.


def test_results_comparisons_and_studies_draw(study: list[sj.Result], tmp_path: Path) -> None:
    figure, axes = study[0].plot.cdf()
    assert axes in figure.axes and axes.get_xlabel() == "sojourn time [ms]"
    found = sj.compare(["droptail", "codel"], duration="3 s", rate="5 Mbit/s")
    panels = found.plot.timeseries(width="3.5in", labels={"codel": "CoDel"}).axes
    assert [one.get_title(loc="left") for one in panels] == ["droptail", "CoDel"]
    assert found.plot(tmp_path / "x.pdf").stat().st_size > 1000
    file = tmp_path / "study.toml"
    file.write_text(SHORT + '[sweep]\n"link.aqm" = ["codel", "pie"]\n"link.rate" = ["3 Mbit/s", "9 Mbit/s"]\n')
    runs = sj.Study.load(file).run()
    drawn_ = runs.plot.utilisation(metric="drop_rate")
    assert drawn_.axes[1].get_ylabel() == "drops [%]"
    assert drawn_.data.height == 8
    assert study[0].plot.drops(from_="1 s", memory=0.1).axes.get_xlim()[0] == 1
    assert drawn_._repr_png_().startswith(b"\x89PNG")


def test_figures_are_discoverable(study: list[sj.Result]) -> None:
    plot = study[0].plot
    assert set(KINDS) <= set(dir(plot))
    assert "cdf" in repr(plot)
    assert "memory" in plot.drops.__doc__ and "width" in plot.drops.__doc__
    with pytest.raises(AttributeError, match="no figure kind 'cfd'; there is timeseries"):
        _ = plot.cfd
    with pytest.raises(sj.InputError, match="the figure kind cdf has no such option"):
        plot.cdf(memory=3)


def test_a_figure_can_go_on_axes_of_ones_own(study: list[sj.Result]) -> None:
    figure, (left, right) = plt.subplots(1, 2)
    try:
        assert study[0].plot.cdf(ax=left) == (figure, left)
        assert study[0].plot.ccdf(ax=right, labels={"droptail": "tail drop"}).axes is right
        assert left.get_lines()[0].get_ydata()[-1] == pytest.approx(1)
        assert table([left]).height == len(left.get_lines()[0].get_xdata())
        assert len(figure.axes) == 2 and figure.get_supxlabel() == ""
    finally:
        plt.close(figure)
    figure, panels = plt.subplots(2, 1)
    try:
        shown = draw("utilisation", study, names_of(study), ax=panels)[0]
        assert shown.axes == panels.tolist()
        with pytest.raises(sj.InputError, match="ax: 2 axes for 6 panels; pass one for each"):
            draw("timeseries", study, names_of(study), ax=panels)
    finally:
        plt.close(figure)
    figure, axes = plt.subplots()
    try:
        shown = draw("timeseries", study, names_of(study), ax=axes)[0]  # divided
        assert len(shown.axes) == 6 and all(one.figure is figure for one in shown.axes)
        figure.savefig(io.BytesIO())
    finally:
        plt.close(figure)


# LaTeX.

DOCUMENT = r"""\documentclass[10pt,twocolumn]{article}
\usepackage{pgf,graphicx,booktabs}
\setlength\textwidth{7.16in}\setlength\columnsep{0.16in}\setlength\oddsidemargin{-0.33in}
\setlength\textheight{9.4in}\setlength\topmargin{-0.7in}
\begin{document}
\begin{figure}\input{one.pgf}\caption{One.}\end{figure}
\begin{figure}\includegraphics{two.pdf}\caption{Two.}\end{figure}
\begin{figure}\input{three.pgf}\caption{Three.}\end{figure}
\begin{figure}\includegraphics{four.pdf}\caption{Four.}\end{figure}
Text.
\end{document}
"""


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_four_figures_in_a_document_of_two_columns(study: list[sj.Result], tmp_path: Path) -> None:
    kinds = {"one.pgf": "ccdf", "two.pdf": "utilisation", "three.pgf": "heatmap", "four.pdf": "timeseries"}
    for name, kind in kinds.items():
        drawn(kind, study, Look.of(style="ieee-column")).save(tmp_path / name)
    (tmp_path / "paper.tex").write_text(DOCUMENT)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout[-2000:]
    for complaint in ("Overfull", "Missing character", "Font Warning", "undefined"):
        assert complaint not in ran.stdout, ran.stdout[-3000:]
    for name in ("one.pgf", "three.pgf"):
        sizes = {float(size) for size in re.findall(r"\\fontsize\{([\d.]+)\}", (tmp_path / name).read_text())}
        assert sizes and min(sizes) >= 7
    _check_pdf(tmp_path / "paper.pdf")


def _check_pdf(file: Path) -> None:
    """Every text of a document has 7 pt at least, and every font is outlines that are embedded."""
    if shutil.which("pdftohtml") is None or shutil.which("pdffonts") is None:
        return
    zoom = 3
    command = ["pdftohtml", "-xml", "-i", "-stdout", "-zoom", str(zoom), str(file)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    sizes = {number: int(size) / zoom for number, size in re.findall(r'fontspec id="(\d+)" size="(\d+)"', text)}
    used = {sizes[number] for number in re.findall(r'<text [^>]*font="(\d+)"', text)}
    assert len(used) > 2 and min(used) >= 7, sorted(used)
    fonts = subprocess.run(["pdffonts", str(file)], capture_output=True, text=True, check=True).stdout.splitlines()[2:]
    assert fonts and not [font for font in fonts if "Type 3" in font or " yes " not in font]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_text_in_pgf_is_what_it_looks_like(tmp_path: Path) -> None:
    odd = r"fq_codel 5 % #1 $x & {y} ~^\ ≤≥±×–…µ <>|"
    one = sj.Scenario.parse(SHORT).run()
    found, _ = draw("cdf", [one, one], [Name(odd), Name("codel")], look=Look.of(style="ieee-column"))
    text = found.save(tmp_path / "x.pgf").read_text()
    assert latex(odd) in text
    document = r"\documentclass{article}\usepackage{pgf}\begin{document}\input{x.pgf}\end{document}"
    (tmp_path / "x.tex").write_text(document)
    ran = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "x.tex"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stdout[-2000:]
    with pytest.raises(sj.InputError, match=r"pgf: pdflatex reports: .* with --label OLD=NEW"):
        draw("cdf", [one, one], [Name("\N{CYRILLIC SMALL LETTER ZHE}\N{HEBREW LETTER ALEF}"), Name("codel")])[0].save(
            tmp_path / "y.pgf"
        )
    assert not (tmp_path / "y.pgf").exists()


def test_pgf_without_latex_says_so(cli: Cli, scenario_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = printed_json(cli("run", scenario_file, "--json"))["folder"]
    monkeypatch.setenv("PATH", "/nonexistent")
    refused = cli("plot", "cdf", folder, "--format", "pgf")
    assert refused.exit_code == 3
    assert refused.stderr == "Error: pgf: needs LaTeX to measure text; install pdflatex, or write pdf instead\n"
