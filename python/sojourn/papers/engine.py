"""A paper's studies on an engine other than the simulator: substitutions and omissions, with their reasons.

The real kernel has its own queue managers. A package that supports it has `on_kernel`, which translates the queue
managers of its studies. Points keep the paper's names, which the figures use; a point whose queue manager the kernel
lacks is left out with the reason, and so is a figure that needs something the engine lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sojourn.base.errors import InputError
from sojourn.engines import SIMULATE, check, kind
from sojourn.papers import PAPERS, QUICK_SEEDS, Paper, paper
from sojourn.papers.setup import Assumed, sets_of, swapped, swaps_of
from sojourn.studies.study import Point, Study

Points = Callable[[Study, Callable[[str], Study]], Study]
"""`points` of a figure's module: adds runs that its study file does not list."""


class LackingError(Exception):
    """A queue manager that an engine lacks; the text gives the reason."""


@dataclass(frozen=True)
class EngineMapping:
    """Substitutes for the queue managers of a paper's study, by their names in the study file."""

    stands_for: Mapping[str, str] = field(default_factory=dict)
    """Substitute on this engine; empty if it has the paper's own."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Reasons for points that are not run."""


def study_of(
    paper: Paper,
    figure_id: str,
    engine: str = SIMULATE,
    *,
    short: bool = False,
    quick: bool = False,
    seeds: int | Sequence[int] | None = None,
    assumed: Assumed | None = None,
) -> Study:
    """Study of a figure: its study file with the assumptions, and the runs that no file lists.

    `quick` limits the number of seeds.
    """
    known, taken = paper.assumptions, assumed or {}
    sets = sets_of(known, taken, figure_id)
    more: Points | None = None if short else getattr(paper.figure(figure_id), "points", None)
    with paper.study_file(figure_id, engine, short=short) as path:
        load = partial(Study.load, seeds=seeds, most_seeds=QUICK_SEEDS if quick else None, sets=sets)
        study = load(path)
        if more:
            study = more(study, lambda name: load(path.with_name(name)))
    swaps = swaps_of(known, taken, figure_id)
    return replace(study, points=[_swapped(point, swaps) for point in study.points]) if swaps else study


def _swapped(point: Point, swaps: Mapping[str, Sequence[Mapping[str, str]]]) -> Point:
    """The point with other queue managers, under the names of the study file."""
    name = point.values.get("link.aqm", point.scenario.aqm)
    sets = {path: text for path, others in swaps.items() if (text := swapped(name, others)) != name}
    return replace(point, scenario=point.scenario.replace(sets)) if sets else point


def on_engine(paper: Paper, study: Study, engine: str) -> tuple[Study, EngineMapping]:
    """The study on another engine, without points that it cannot run; raises `InputError` if none is left."""
    there = EngineMapping()
    if kind(engine) == "kernel":
        study, there = _on_kernel(paper, study, engine)
    for point in study.points:
        check(engine, point.scenario)
    return replace(study, engine=engine), there


def figures_on(paper: Paper, engine: str) -> tuple[list[str], dict[str, str]]:
    """Figures made for the whole paper, and reasons for the others; raises `InputError` if there are none."""
    on_request = {name: getattr(paper.figure(name), "ON_REQUEST", "") for name in paper.figures}
    left_out = {name: f"{why}; select it with --figure {name}" for name, why in on_request.items() if why}
    candidates = [name for name in paper.figures if name not in left_out]
    if engine == SIMULATE:
        return candidates, left_out
    possible, refused = [], {}
    for figure_id in candidates:
        try:
            on_engine(paper, study_of(paper, figure_id, engine), engine)
        except InputError as error:
            refused[figure_id] = str(error)
        else:
            possible.append(figure_id)
    if refused and not possible:
        raise InputError(next(iter(refused.values())))
    return possible, left_out | refused


def _on_kernel(paper: Paper, study: Study, engine: str) -> tuple[Study, EngineMapping]:
    translate = getattr(paper.about, "on_kernel", None)
    if translate is None:
        raise InputError(f"--engine {engine}: {paper.id} cannot be made on it; {_with_a_kernel()} can")
    points: list[Point] = []
    stands_for: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for point in study.points:
        name = point.values.get("link.aqm", point.scenario.aqm)
        try:
            sets: Mapping[str, Any] = translate(name, point.scenario.document)
        except LackingError as reason:
            left_out[name] = str(reason)
            continue
        points.append(replace(point, scenario=point.scenario.replace(sets)))
        stands_for[name] = ", ".join(_point_text(key, value) for key, value in sets.items())
    if not points:
        raise InputError(f"--engine {engine}: no queue manager of {study.name} is left: {'; '.join(left_out.values())}")
    return replace(study, points=points), EngineMapping(stands_for, left_out)


def _point_text(key: str, value: Any) -> str:
    return str(value) if key == "link.aqm" else f"{key} = {value}"


def _with_a_kernel() -> str:
    """Papers that the kernel can reproduce."""
    return ", ".join(name for name in PAPERS if hasattr(paper(name).about, "on_kernel"))
