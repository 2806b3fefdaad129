"""Sources of the episodes' scenarios: a file, a scenario, or a distribution of them (`[draw]`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sojourn import _core
from sojourn.apps.gym.seeds import draw_seed
from sojourn.apps.gym.suites import Suite, is_suite
from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_toml, read_text
from sojourn.model.scenarios.draw import Draw
from sojourn.model.scenarios.scenario import Scenario, spelled

T = TypeVar("T")


class EpisodeSequence:
    """Sequence of an environment's scenarios, and the seed of the current episode."""

    def __init__(self, scenario: str | Path | Scenario | Suite) -> None:
        """Accept the arguments of `Source`."""
        self.source = Source(scenario)
        self._seed: int | None = None

    def next(
        self,
        seed: int | None,
        random: np.random.Generator,
        options: Mapping[str, Any] | None,
        take: Callable[[str, list[tuple[str, str]], str], object],
    ) -> int:
        """Seed of the next episode: without `seed` a training one. `take` receives the scenario if it changed.

        `options={"scenario": …}` replaces the scenario from now on.
        """
        if options and "scenario" in options:
            self.source, self._seed = Source(options["scenario"]), None
        if seed is None:
            seed = draw_seed(random)
        if self._seed is None or self.source.is_drawn:
            self.source.give(seed, take)
        self._seed = seed
        return seed

    @property
    def scenario(self) -> Scenario | None:
        """Scenario of the current episode, with the drawn values filled in."""
        return None if self._seed is None else self.source.scenario(self._seed)


class Source:
    """Scenarios by seed; drawn values are those of `sojourn scenario draw` for that seed."""

    def __init__(self, scenario: str | Path | Scenario | Suite) -> None:
        """Accept the path of a TOML file, a scenario, or a suite, which may be given by its name."""
        self._draw: Draw | None = None
        self._fixed: Scenario | None = None
        self._last: tuple[int, Scenario] | None = None
        if isinstance(scenario, Scenario):
            self._fixed = _built_in(scenario)
            return
        if isinstance(scenario, str) and is_suite(scenario):
            scenario = Suite(scenario)
        path = scenario.path if isinstance(scenario, Suite) else Path(scenario)
        self._path = path
        try:
            document = parse_toml(read_text(path))
            self._draw = Draw.take(document, path.parent)
            if self._draw is None:
                self._fixed = _built_in(Scenario.load(path))
        except InputError as error:
            raise error if str(error).startswith(str(path)) else InputError(f"{path}: {error}") from None
        self._text, self._base = json.dumps(document, default=str), str(path.parent.resolve())

    @property
    def is_drawn(self) -> bool:
        """Whether the seed draws the scenario."""
        return self._draw is not None

    def scenario(self, seed: int) -> Scenario:
        """The scenario of an episode."""
        if self._draw is None:
            assert self._fixed is not None
            return self._fixed
        if self._last is None or self._last[0] != seed:
            self._last = seed, Scenario(self.give(seed, _core.parse_scenario))
        return self._last[1]

    def give(self, seed: int, take: Callable[[str, list[tuple[str, str]], str], T]) -> T:
        """Call `take` with the scenario of an episode: its text, overrides, and the base of relative paths.

        This parses drawn scenarios once per episode, instead of writing and parsing them again.
        """
        if self._draw is None:
            assert self._fixed is not None
            return take(self._fixed.canonical, [], "/")
        drawn = [(key, spelled(value)) for key, value in self._draw.values(seed).items()]
        try:
            return take(self._text, [("seed", str(seed)), *drawn], self._base)
        except InputError as error:
            raise InputError(f"{self._path}, drawn with seed {seed}: {error}") from None


def _built_in(scenario: Scenario) -> Scenario:
    """Raise `InputError` for users' queue managers, which would need error checks after each call."""
    if found := scenario.user_aqms():
        raise InputError(f"{', '.join(found)}: the queues of an environment must be built in; write e.g. droptail")
    return scenario
