"""Draw the figures of `docs/data` from its tables: `python docs/site/draw.py`.

Each SVG names in its description the SHA-256 of the tables that it shows; a test compares.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from parts import COMPARISONS
from sojourn.figures.look import Look
from sojourn.figures.scales import log_axis
from tables import DATA, Table


def agreement() -> Figure:
    """Draw the share of cells within a distance, by comparison."""
    figure = Figure(figsize=(7, 3.2))
    axes = figure.subplots()
    for file, subject in COMPARISONS.items():
        found = [row for row in Table.read(file).rows if row["verdict"] != "not counted"]
        bands = sorted(max(float(row["bands"]), 0.01) for row in found)
        shares = [100 * number / len(bands) for number in range(1, len(bands) + 1)]
        axes.step(bands, shares, where="post", label=subject)
    axes.axvline(1, color="#999999", linewidth=0.8, linestyle=":")
    axes.text(1.05, 2, "agree ←", ha="right", color="#555555")
    log_axis(axes, "x")
    axes.set(xlim=(0.01, 60), ylim=(0, 100), xlabel="distance [bands]", ylabel="cells within it [%]")
    axes.legend(loc="lower right")
    return figure


def claims() -> Figure:
    """Draw the verdicts on the claims of each paper."""
    rows = Table.read("claims.csv").rows
    papers = list(dict.fromkeys(row["paper"] for row in rows))
    colors = {
        "tight": "#0072B2",
        "holds": "#56B4E9",
        "loose": "#A6CEE3",
        "contradicted": "#E69F00",
        "failed": "#D55E00",
        "not-run": "#CCCCCC",
    }
    figure = Figure(figsize=(7, 2.4))
    axes = figure.subplots()
    left = [0] * len(papers)
    for verdict, color in colors.items():
        counts = [sum((row["paper"], row["verdict"]) == (paper, verdict) for row in rows) for paper in papers]
        axes.barh(papers, counts, left=left, color=color, label=verdict)
        left = [start + count for start, count in zip(left, counts, strict=True)]
    axes.invert_yaxis()
    axes.set(xlabel="claims")
    axes.legend(loc="lower right", ncols=2)
    return figure


def media() -> Figure:
    """Draw the share of criteria that each control meets, by case and queue."""
    rows = Table.read("media.csv").rows
    queues = [name for name in dict.fromkeys(row["queue"] for row in rows) if name != "tail drop, 1 s"]
    controls, cases = (list(dict.fromkeys(row[key] for row in rows)) for key in ("control", "case"))
    figure = Figure(figsize=(7, 2.6))
    for number, (queue, axes) in enumerate(zip(queues, figure.subplots(1, len(queues), sharey=True), strict=True)):
        grid = []
        for control in controls:
            key = (control, queue)
            met = [[r["met"] for r in rows if (r["control"], r["queue"]) == key and r["case"] == c] for c in cases]
            grid.append([one.count("yes") / len(one) if one else float("nan") for one in met])
        axes.grid(visible=False)
        image = axes.imshow(grid, cmap="cividis", vmin=0, vmax=1, aspect="auto")
        axes.set(title=queue, xticks=range(len(cases)), xticklabels=cases)
        axes.tick_params(axis="x", labelrotation=90)
        if not number:
            axes.set(yticks=range(len(controls)), yticklabels=controls)
    figure.colorbar(image, ax=figure.axes, label="criteria met")
    return figure


def emulator() -> Figure:
    """Draw the median delays of scenarios by the simulator and by real programs."""
    rows = Table.read("emulator-beside.csv").rows
    here, there = ([float(row[f"{side}_ms"]) for row in rows] for side in ("simulated", "emulated"))
    figure = Figure(figsize=(3.6, 3.2))
    axes = figure.subplots()
    line = [0.5, 200]
    axes.fill_between(line, [0.9 * x for x in line], [1.1 * x for x in line], color="#DDDDDD", label="10 %")
    axes.plot(here, there, "o")
    log_axis(axes, "x")
    log_axis(axes, "y")
    axes.set(xlim=line, ylim=line, xlabel="median delay, simulated [ms]", ylabel="median delay, emulated [ms]")
    axes.legend()
    return figure


def cost() -> Figure:
    """Draw the instructions of each queue discipline, with one flow and under overload."""
    rows = [row for row in Table.read("cost-queues.csv").rows if len(row["discipline"]) < 20]
    figure = Figure(figsize=(7, 4))
    axes = figure.subplots()
    places = range(len(rows))
    for offset, (name, label) in zip((-0.2, 0.2), (("100_1", "100 packets, one flow"), ("overload",) * 2), strict=True):
        values = [float(row[f"instructions_{name}"]) for row in rows]
        axes.barh([place + offset for place in places], values, 0.4, label=label)
    axes.set(yticks=places, yticklabels=[row["discipline"] for row in rows], xlabel="instructions per packet")
    axes.invert_yaxis()
    axes.legend()
    return figure


FIGURES: dict[str, tuple[Callable[[], Figure], Sequence[str]]] = {
    "agreement": (agreement, tuple(COMPARISONS)),
    "claims": (claims, ("claims.csv",)),
    "media": (media, ("media.csv",)),
    "emulator-beside": (emulator, ("emulator-beside.csv",)),
    "cost-queues": (cost, ("cost-queues.csv",)),
}
"""By name: the function that draws it, and its tables."""


def description(files: Sequence[str]) -> str:
    """Return the tables of a figure with their SHA-256."""
    return "; ".join(f"{file} {hashlib.sha256((DATA / file).read_bytes()).hexdigest()}" for file in files)


def drawn_from(path: Path) -> str:
    """Return the description of a figure."""
    found = re.search(r"<dc:description>(.*?)</dc:description>", path.read_text(encoding="utf-8"))
    return found[1] if found else ""


def main() -> None:
    """Draw the figures."""
    for name, (draw, files) in FIGURES.items():
        with mpl.rc_context(Look().rc):
            metadata = {"Date": None, "Description": description(files)}
            draw().savefig(DATA / f"{name}.svg", metadata=metadata)


if __name__ == "__main__":
    main()
