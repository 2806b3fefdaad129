"""A paper's studies on another engine than the simulator: what stands for what, and what is left out and why.

The real kernel has queue managers of its own. A package that allows it has `on_kernel`, which says what a queue manager
of its studies is there. Points keep the names of the paper, by which the figures find them; a point whose queue manager
the kernel does not have is left out with the reason, and so is a figure that needs what the engine lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sojourn.base.errors import InputError
from sojourn.engines import SIMULATE, check, kind
from sojourn.papers import PAPERS, Paper, paper
from sojourn.studies.study import Point, Study


class LackingError(Exception):
    """A queue manager that an engine does not have; the text says what it lacks."""


@dataclass(frozen=True)
class OnEngine:
    """What an engine has for the queue managers of a paper's study, by their names in the study file."""

    stands_for: Mapping[str, str] = field(default_factory=dict)
    """What it runs in their place; empty if it has the paper's own."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Why the points of others are not run."""


def on_engine(paper: Paper, study: Study, engine: str) -> tuple[Study, OnEngine]:
    """The same study on another engine, without the points that it does not have; refused if none is left."""
    there = OnEngine()
    if kind(engine) == "kernel":
        study, there = _on_kernel(paper, study, engine)
    for point in study.points:
        check(engine, point.scenario)
    return replace(study, engine=engine), there


def figures_on(paper: Paper, engine: str) -> tuple[list[str], dict[str, str]]:
    """Figures that an engine can make, and by figure why it cannot make the others; refused if there is none."""
    if engine == SIMULATE:
        return list(paper.figures), {}
    possible, refused = [], {}
    for figure_id in paper.figures:
        try:
            with paper.study_file(figure_id, engine) as path:
                on_engine(paper, Study.load(path), engine)
        except InputError as error:
            refused[figure_id] = str(error)
        else:
            possible.append(figure_id)
    if refused and not possible:
        raise InputError(next(iter(refused.values())))
    return possible, refused


def _on_kernel(paper: Paper, study: Study, engine: str) -> tuple[Study, OnEngine]:
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
        stands_for[name] = ", ".join(_told(key, value) for key, value in sets.items())
    if not points:
        raise InputError(f"--engine {engine}: no queue manager of {study.name} is left: {'; '.join(left_out.values())}")
    return replace(study, points=points), OnEngine(stands_for, left_out)


def _told(key: str, value: Any) -> str:
    return str(value) if key == "link.aqm" else f"{key} = {value}"


def _with_a_kernel() -> str:
    """Papers that the kernel can make."""
    return ", ".join(name for name in PAPERS if hasattr(paper(name).about, "on_kernel"))
