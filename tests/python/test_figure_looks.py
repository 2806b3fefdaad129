"""Appearance of all figures: size, font, colours, labels, channels, ticks, and metadata."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.ticker import FixedLocator

import sojourn as sj
from conftest import SHORT, Cli, printed_json
from drawn_figures import COLUMNS, LONG, drawn, texts
from sojourn.figures import KINDS, PALETTES, PRESETS
from sojourn.figures.api import draw
from sojourn.figures.channels import Channels, facets
from sojourn.figures.data import plotted_axes
from sojourn.figures.look import Look
from sojourn.model.analysis.labels import Name, names_of, shortened

# Presets for papers.


@pytest.mark.parametrize("preset", ["ieee-column", "slide", None])
@pytest.mark.parametrize("kind", KINDS)
def test_no_text_is_small_cut_or_hidden(kind: str, preset: str | None, everything: dict[str, list[sj.Result]]) -> None:
    """At column width text has at least 7 pt; no text is cut, and titles, labels and legends do not overlap."""
    _check_texts(drawn(kind, everything[kind], Look.of(style=preset or ())).figure, preset)


def test_the_other_column_holds_names_and_numbers_too(everything: dict[str, list[sj.Result]]) -> None:
    for kind in ("box", "heatmap", "comparison"):
        _check_texts(drawn(kind, everything[kind], Look.of(style="acm-column")).figure, "acm-column")


def test_labels_and_titles_are_as_long_as_their_panel(study: list[sj.Result]) -> None:
    """Heatmaps have low rows, and "rate of the link [Mbit/s]" is long."""
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
    """Elements that must not overlap, with their boxes."""
    for axes in figure.axes:
        for loc, title in (("left", axes._left_title), ("right", axes._right_title)):
            if axes.get_title(loc=loc).strip():
                lines, box = title.get_text().split("\n"), title.get_window_extent()
                # A title with a remark below it ends with an empty line.
                yield lines[0], box if lines[-1] else box.from_extents(box.x0, box.y1 - 6, box.x1, box.y1)
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_label_text():
                yield axis.get_label_text(), axis.label.get_window_extent()
    for legend in figure.legends:
        yield "legend", legend.get_window_extent()


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_in_the_help_and_change_the_figure(preset: str, study: list[sj.Result], cli: Cli) -> None:
    assert preset in cli("plot", "--help").output
    one, other = drawn("cdf", study, Look.of(style=preset)).figure, drawn("cdf", study).figure
    sizes = [tuple(figure.get_size_inches()) for figure in (one, other)]
    assert sizes[0] != sizes[1] or one.get_facecolor() != other.get_facecolor()


def luminance(color: str) -> float:
    """Relative luminance by WCAG 2."""
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in to_rgb(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_curves_of_the_dark_preset_have_contrast() -> None:
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
    assert ticks[0].get_fontsize() == 16  # ticks have 8/9 of the font size
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
    drawn("cdf", study, Look.of(style="ggplot"))  # a style of matplotlib


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
    "no length": (["--width", "3.5 parsec"], '--width: "3.5 parsec" is not a length; write e.g. 3.5in'),
    "no width": (["--width", "0"], "out of range; from 1 to 60 in"),
    "no font": (["--font", "Tims New Roman"], '--font: no font "Tims New Roman" is installed'),
    "no size": (["--font", "serif 300"], "300 pt is out of range"),
    "no style": (["--style", "ieee"], 'style "ieee" is unknown; did you mean "ieee-column"?'),
    "no file": (["--style", "mine.mplstyle"], "mine.mplstyle: no such file"),
    "no palette": (["--palette", "okabe"], '"okabe" is neither a palette nor a colour'),
    "no place": (["--legend", "uper left"], 'did you mean "upper left"?'),
    "no pair": (["--label", "codel"], '"codel" is not OLD=NEW'),
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
    with pytest.raises(sj.InputError, match=r"--style: .*; correct that line"):
        Look.of(style=file)


def test_every_command_that_draws_has_the_options(cli: Cli) -> None:
    for command in (["plot"], ["compare"], ["trace", "plot"]):
        text = cli(*command, "--help").output
        for option in ("width", "height", "font", "style", "label", "title", "palette", "legend", "format"):
            assert f"--{option} " in text or f"--{option}," in text, (command, option)
    assert "--style" in cli("reproduce", "--help").output


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


# Metadata of a figure.


def test_one_point_is_reported(study: list[sj.Result]) -> None:
    single = drawn("utilisation", study[:1]).figure
    assert single.get_supxlabel().startswith("one point: link.rate is 10 Mbit/s in all results; sweep it")
    assert [text.get_text() for text in single.axes[1].get_xticklabels()] == ["droptail"]
    assert f"{100 * study[0].summary['utilisation'][0]:.1f}" in {text.get_text() for text in single.axes[0].texts}
    several = drawn("utilisation", study[::2]).figure  # targets differ per queue manager
    assert several.get_supxlabel().startswith("one point per curve: link.rate is 10 Mbit/s")
    assert [text.get_text() for text in several.axes[1].get_xticklabels()] == ["droptail", LONG, "pie@draft00"]


def test_one_varying_key_is_reported(study: list[sj.Result]) -> None:
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
    """Results of a study with random values: close to each other, tiny, huge, or equal."""
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
    """Every tick has its full value: no offset such as "+9.999e1" and no power of ten at the axis."""
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
    """Positions of an axis' tick labels; checks that each label equals its position and is unique."""
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


def test_classful_disciplines_are_named_by_their_unique_children() -> None:
    """A title with all classes of HTB would leave no space for the figure."""
    one, other = (
        f"htb default 20 {{ class 1 rate 45mbit burst 15kB; class 20 parent 1 rate 40mbit {{ {child}; }} }}"
        for child in ("fq_codel target 5ms", "pie")
    )
    assert shortened([one, one, "codel"]) == ["htb default 20 { … }", "htb default 20 { … }", "codel"]
    assert shortened([one, other]) == [
        "htb default 20 { …; class 20 parent 1 rate 40mbit { fq_codel target 5ms; } }",
        "htb default 20 { …; class 20 parent 1 rate 40mbit { pie; } }",
    ]
    tbf = "tbf rate 10mbit burst 5kB { fq_codel }"
    assert shortened([tbf]) == [tbf]
    prio = f"prio {{ band 1 match dscp EF; band 2 {{ {tbf} }} }}"
    assert shortened([one, prio]) == ["htb default 20 { … }", "prio { … }"]
