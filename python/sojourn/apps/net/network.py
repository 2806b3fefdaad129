"""The world of a test: a scenario with open ends, and the seeds that a test is run with."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.inputs import read_text

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_SEEDS = 100_000
"""Maximum number of seeds of one test."""


class Net(_core.Net):
    """A network whose ends are your programs.

    `world` is the path of a scenario file, or the text of one (TOML or JSON, with more than one line); it has at least
    one flow of `kind = "endpoint"`. Relative paths in a text start from the working folder. `seed` is that of all
    random draws of the network; by default the variable `SOJOURN_SEED`, or 1. `name` is used for files and messages; by
    default that of the scenario file. With `log=False` the datagrams are only hashed, which saves about 100 bytes each.

    All times are integer nanoseconds of the run. Raises `InputError` with the place and the remedy.
    """

    def __new__(
        cls, world: str | os.PathLike[str], seed: int | None = None, *, name: str | None = None, log: bool = True
    ) -> Self:
        """Read the world."""
        text, base = str(world), "."
        if not isinstance(world, str) or "\n" not in world:
            path = Path(world)
            text, base = read_text(path), str(path.parent)
            name = path.stem if name is None else name
        return super().__new__(cls, text, _seed() if seed is None else seed, base, name, log)


def chosen_seeds(seeds: int | Sequence[int] = 1) -> list[int]:
    """Seeds of a test: 1 to `seeds`, or the given ones, unless the environment selects others.

    `SOJOURN_SEED=7` selects one seed, `SOJOURN_SEEDS=1-40` a range. Raises `InputError` for anything else.
    """
    if os.environ.get("SOJOURN_SEED"):
        return [_seed()]
    text = os.environ.get("SOJOURN_SEEDS", "")
    if text:
        span = re.fullmatch(r"(\d{1,18})-(\d{1,18})", text, re.ASCII)
        first, last = (int(span[1]), int(span[2])) if span else (1, 0)
        return _bounded(range(first, last + 1), f"SOJOURN_SEEDS: {text!r}")
    return _bounded(range(1, seeds + 1) if isinstance(seeds, int) else seeds, f"seeds: {seeds!r}")


def _bounded(seeds: Sequence[int], place: str) -> list[int]:
    if not 0 < len(seeds) <= MAX_SEEDS:
        raise InputError(f"{place} is no range of seeds; write e.g. 1-20, at most {MAX_SEEDS} of them")
    return list(seeds)


def _seed() -> int:
    """The seed of `SOJOURN_SEED`, or 1."""
    text = os.environ.get("SOJOURN_SEED", "") or "1"
    if not re.fullmatch(r"\d{1,20}", text, re.ASCII):
        raise InputError(f"SOJOURN_SEED: {text!r} is no seed; write e.g. 7")
    return int(text)
