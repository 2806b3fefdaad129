"""Cases of the attack by number: the same seed and number give the same case on every machine."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from attack import changes, draw_tables, files, frames, graphs, nested, pages, scenarios
from attack.exits import Exit

Draw = Callable[[random.Random, bool], tuple[list[str], dict[str, bytes]]]

FAMILIES: dict[str, tuple[int, float, Draw]] = {
    "scenarios": (30, 0.3, scenarios.draw_scenario),
    "studies": (10, 0.25, scenarios.draw_study),
    "drawn keys": (9, 0.3, draw_tables.draw_with_table),
    "graphs": (9, 0.3, graphs.draw_graph),
    "changes": (9, 0.3, changes.draw_changes),
    "nested texts": (9, 0.3, nested.draw_nested),
    "command lines": (18, 0.25, files.draw_compare),
    "captures": (9, 0.3, files.draw_capture),
    "logs": (8, 0.3, files.draw_log),
    "traces": (8, 0.3, files.draw_trace),
    "results": (9, 0.2, partial(files.draw_result, stored=Path("stored"))),
    "queue managers in Python": (6, 0.3, files.draw_own),
    "kernel vectors": (2, 0.3, files.draw_vector),
    "shells": (1, 0.2, files.draw_shell),
    "frames": (1, 0.2, frames.draw_frames),
    "lab requests": (6, 0.3, pages.draw_request),
}
"""By name: weight among the cases, share of valid cases, and function that draws a case."""

RUNNERS: dict[str, Callable[[list[str]], Exit]] = {"frames": frames.run, "lab requests": pages.run}
"""Functions that run a family's cases, if a command line is not enough."""


@dataclass(frozen=True)
class Case:
    """A command line and the files in its working folder."""

    number: int
    family: str
    words: list[str]
    files: dict[str, bytes]
    runs: bool
    """Whether the case is valid, i.e. drawn so that it runs."""


def case(seed: int, number: int, stored: Path) -> Case:
    """Draw case `number`; `stored` is the folder of a result."""
    rng = random.Random(f"{seed}/{number}")
    names = list(FAMILIES)
    family = rng.choices(names, [FAMILIES[name][0] for name in names])[0]
    _, share, draw = FAMILIES[family]
    runs = rng.random() < share
    if isinstance(draw, partial):
        draw = partial(draw.func, stored=stored)
    words, found = draw(rng, runs)
    words = [word.replace("\x00", "?") for word in words]  # no shell can pass a NUL
    return Case(number, family, words, found, runs)
