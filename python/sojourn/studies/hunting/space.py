"""Search space: a scenario with drawn keys, combined with some queue managers."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError
from sojourn.model.aqms.registry import parsed
from sojourn.model.aqms.spelling import spelled_aqm
from sojourn.model.scenarios.draw import Draw, Leaf, unit_draw
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.sentences import Vocabulary
from sojourn.studies.study import AQM_PARAMETER, fill, read_document, set_path


@dataclass(frozen=True)
class Point:
    """A point of the space, with its simplifications."""

    values: Mapping[str, Any]
    """Value of each drawn leaf, by name."""
    left_out: frozenset[str] = frozenset()
    """Paths that keep the file's value, or the default."""
    dropped: frozenset[int] = frozenset()
    """Flow groups that are removed."""
    duration: str = ""
    """Duration in place of the file's."""

    def with_value(self, name: str, value: Any) -> Point:
        """Return the point with another value of a leaf."""
        return replace(self, values={**self.values, name: value})


@dataclass(frozen=True)
class Space:
    """Search space of a hunt."""

    path: Path
    document: dict[str, Any]
    """The file without its table `[draw]`."""
    draw: Draw
    aqms: tuple[str, ...]
    """Queue managers at the first link, at least one; empty if they are drawn."""
    sets: Mapping[str, Any] = field(default_factory=dict)
    """Keys set for all points, with priority over drawn values."""

    @classmethod
    def load(cls, path: Path, aqms: Sequence[str], sets: Mapping[str, Any]) -> Space:
        """Read a scenario with a table `[draw]`; default queue managers: those of its `[sweep]`, else its own one.

        Raises `InputError` if nothing is drawn.
        """
        document = read_document(path)
        draw = Draw.take(document, path.parent)
        if draw is None:
            raise InputError(
                f'{path}: draw: no free keys; write [draw] and e.g. "flows.0.count" = {{ log_uniform = [1, 64] }} '
                "below it"
            )
        fill(document)
        sweep = document.pop("sweep", {})
        chosen = tuple(aqms) or _own_aqms(document, sweep, draw)
        return cls(path, document, draw, chosen, sets)

    def drawn(self, seed: int) -> Point:
        """The point that `sojourn scenario draw` draws with a seed."""
        return self.at(self.places(seed))

    def places(self, seed: int) -> dict[str, float]:
        """Position in [0, 1) of each leaf, drawn by a seed."""
        return {name: unit_draw(seed, name) for name in self.leaves}

    @cached_property
    def leaves(self) -> dict[str, Leaf]:
        """Leaves that take a value of their own, by name."""
        return self.draw.leaves

    def at(self, places: Mapping[str, float]) -> Point:
        """The point with each leaf at a position in [0, 1)."""
        return Point({name: leaf(places[name]) for name, leaf in self.leaves.items()})

    def paths(self, point: Point) -> dict[str, Any]:
        """Values that a point sets, by dotted path."""
        drawn = self.draw.chosen(lambda name, _leaf: point.values[name])
        return {path: value for path, value in drawn.items() if path not in point.left_out and path not in self.sets}

    def active(self, point: Point) -> list[str]:
        """Names of the leaves that determine the paths of a point."""
        found: list[str] = []

        def choose(name: str, _leaf: Leaf) -> Any:
            found.append(name)
            return point.values[name]

        self.draw.chosen(choose)
        return found

    def scenario(self, point: Point, aqm: int = 0) -> Scenario:
        """Scenario of a point with a queue manager. Raises `InputError` if it cannot run."""
        document, parameters = self.written(point, aqm)
        return Scenario.parse(json.dumps(document, default=str), parameters, base=self.path.parent)

    def written(self, point: Point, aqm: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
        """Document of a point, and parameters of its queue managers by dotted path."""
        document: dict[str, Any] = copy.deepcopy(self.document)
        parameters: dict[str, Any] = {}
        chosen = {self._aqm_path: self.aqms[aqm]} if self.aqms[aqm] else {}
        for path, value in {**self.paths(point), **self.sets, **chosen}.items():
            if AQM_PARAMETER.search(path):
                if self._has(aqm, path):
                    parameters[path] = value
            else:
                set_path(document, path, value, f"draw.{path}")
        if point.dropped:
            document["flows"] = [flow for place, flow in enumerate(document["flows"]) if place not in point.dropped]
        if point.duration:
            document["duration"] = point.duration
        return document, parameters

    @property
    def _aqm_path(self) -> str:
        return "links.0.aqm" if "nodes" in self.document else "link.aqm"

    def _has(self, aqm: int, path: str) -> bool:
        """Whether a queue manager has a drawn parameter; those of another link are left to the core."""
        link, _, name = path.rpartition(".")
        return link != self._aqm_path or not self.aqms[aqm] or name in self._parameters[aqm]

    @cached_property
    def _parameters(self) -> list[Iterable[str]]:
        return [parsed(aqm, self.path.parent)["parameters"] for aqm in self.aqms]


def _own_aqms(document: Mapping[str, Any], sweep: Any, draw: Draw) -> tuple[str, ...]:
    """Queue managers that a file names: those of its sweep, else of its first link; empty if it is drawn."""
    swept = sweep.get("link.aqm") if isinstance(sweep, Mapping) else None
    if isinstance(swept, list) and swept:
        return tuple(spelled_aqm(one) for one in swept)
    if not {"link.aqm", "links.0.aqm"}.isdisjoint(draw.paths):
        return ("",)
    links = document.get("links") if "nodes" in document else [document.get("link")]
    first = links[0] if isinstance(links, list) and links else None
    own = first.get("aqm", "droptail") if isinstance(first, Mapping) else "droptail"
    return (spelled_aqm(own),)


def words_of(space: Space) -> Vocabulary:
    """Vocabulary of a space, from points that can run, because not all have every key.

    Raises `InputError` if none of the first points can run.
    """
    points, reason = [], None
    for seed in range(1, SAMPLED_POINTS + 1):
        try:
            points.append([space.scenario(space.drawn(seed), aqm) for aqm in range(len(space.aqms))])
        except InputError as error:
            reason = reason or error
    if not points:
        raise InputError(f"{space.path}: {reason}")
    return Vocabulary(points[0], [scenario for scenario, *_ in points])


SAMPLED_POINTS = 24
"""Points inspected before anything runs."""


def seeds_from(seed: int, stream: str, count: int) -> list[int]:
    """Seeds of runs from a stream of their own."""
    draw = random.Random(f"hunt {seed} {stream}")
    return [draw.randrange(1, 2**31) for _ in range(count)]
