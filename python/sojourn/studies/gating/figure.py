"""Figure of a broken budget: both sides of each comparison per seed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.figures import marks, scales
from sojourn.figures.canvas import Sheet, save, style
from sojourn.figures.channels import colors
from sojourn.studies.gating.gate import BudgetRow, GateReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_broken(report: GateReport, folder: Path) -> dict[tuple[str, str], Path]:
    """Write a figure per broken budget, as SVG; by world and place of the budget."""
    rows = [row for row in report.budgets if not row.passed]
    return {(row.world, row.budget.place): save(draw(row), folder / _name(report, row)) for row in rows}


def draw(row: BudgetRow) -> Figure:
    """Left sides of the comparisons as points, right sides as lines; failing seeds have another colour."""
    seeds = list(row.seeds)
    texts = [side.text for side in row.seeds[seeds[0]].sides]
    with style():
        sheet = Sheet()
        panels = sheet.panels(len(texts), width=5.0, height=1.8, sharey=False)[:, 0].tolist()
        for place, (text, axes) in enumerate(zip(texts, panels, strict=True)):
            _panel(row, place, axes)
            scales.title(axes, text)
            axes.set_ylabel(row.seeds[seeds[0]].sides[place].unit or "value")
        scales.whole_axis(panels[-1], "x")
        panels[-1].set_xlabel("seed")
        sheet.legend()
        sheet.note(f"{row.world}: {row.budget.say}, needed in {row.budget.needed} of {len(seeds)} seeds")
        sheet.finish()
    return sheet.figure


def _panel(row: BudgetRow, place: int, axes: Axes) -> None:
    palette = colors()
    failing = set(row.failing)
    good = [(seed, one.sides[place].left) for seed, one in row.seeds.items() if seed not in failing]
    broken = [(seed, row.seeds[seed].sides[place].left) for seed in sorted(failing)]
    for points, name, color, marker in (
        (good, "true", palette[0], "o"),
        (broken, "false", palette[1 % len(palette)], "X"),
    ):
        shown = [(seed, value) for seed, value in points if isfinite(value)]
        if shown:
            x, y = [seed for seed, _ in shown], [value for _, value in shown]
            marks.line(axes, x, y, name, color=color, marker=marker, linestyle="")
    bound = [(seed, one.sides[place].right) for seed, one in row.seeds.items() if isfinite(one.sides[place].right)]
    if bound:
        marks.line(axes, *_widened(bound), "right side", color="0.4", linestyle="--", marker="")


def _widened(points: Sequence[tuple[int, float]]) -> tuple[list[float], list[float]]:
    """A line that extends half a seed beyond its points."""
    x, y = [float(seed) for seed, _ in points], [value for _, value in points]
    return [x[0] - 0.5, *x, x[-1] + 0.5], [y[0], *y, y[-1]]


def _name(report: GateReport, row: BudgetRow) -> str:
    """File name of a figure; worlds whose names need other characters have a digest."""
    number = "".join(re.findall(r"\d+", row.budget.place))
    world = re.sub(r"[^\w-]+", "-", row.world)[:60]
    if world != row.world:
        world += f"-{sha256(row.world.encode()).hexdigest()[:8]}"
    return f"{report.gate.path.stem}.{world}.budget-{number}.svg"
