"""Figures as files, data and objects: the drawn data is written, from Python and for LaTeX."""

from __future__ import annotations

import ast
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import polars as pl
import pytest

import sojourn as sj
from conftest import REPO, SHORT, Cli, printed_json
from drawn_figures import drawn
from sojourn.base.latex import latex
from sojourn.figures import KINDS
from sojourn.figures.api import draw
from sojourn.figures.data import column_of, plotted_axes, table
from sojourn.figures.look import Look
from sojourn.figures.marks import series_of
from sojourn.model.analysis.labels import Name, names_of

# The plotted data.


def _data_artists(axes: Any) -> list[Any]:
    """Artists with data: not the frame, nor separators over the whole height."""
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


# Python.


def test_results_comparisons_and_studies_draw(study: list[sj.Result], tmp_path: Path) -> None:
    figure, axes = study[0].plot.cdf()
    assert axes in figure.axes and axes.get_xlabel() == "sojourn time [ms]"
    found = sj.compare(["droptail", "codel"], duration="3 s", rate="5 Mbit/s", warmup="1 s")
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
    with pytest.raises(AttributeError, match="unknown figure kind 'cfd'; expected one of timeseries"):
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
        shown = draw("timeseries", study, names_of(study), ax=axes)[0]  # the axes are subdivided
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
    """All texts have at least 7 pt, and all fonts are embedded outlines."""
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
def test_text_in_pgf_is_escaped(tmp_path: Path) -> None:
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


def test_pgf_without_latex_is_reported(cli: Cli, scenario_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = printed_json(cli("run", scenario_file, "--json"))["folder"]
    monkeypatch.setenv("PATH", "/nonexistent")
    refused = cli("plot", "cdf", folder, "--format", "pgf")
    assert refused.exit_code == 3
    assert refused.stderr == "Error: pgf: needs LaTeX to measure text; install pdflatex, or write a PDF instead\n"
