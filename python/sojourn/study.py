"""Studies: a scenario whose `[sweep]` table lists values to run, each with several seeds."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sojourn.comparison import seed_list
from sojourn.errors import InputError, read_text
from sojourn.expand import combinations
from sojourn.result import Result
from sojourn.runner import Progress, Run, run_all
from sojourn.scenario import Scenario

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Point:
    """One combination of swept values."""

    values: dict[str, Any]
    scenario: Scenario


@dataclass(frozen=True)
class StudyResult:
    """All runs of a study, point by point and seed by seed."""

    study: Study
    results: list[Result]

    @property
    def runs(self) -> pl.DataFrame:
        """One row per run: swept values by their dotted path, seed and summary."""
        count = len(self.study.seeds)
        rows = []
        for index, result in enumerate(self.results):
            values = self.study.points[index // count].values
            summary = result.summary.drop("aqm").row(0, named=True)
            rows.append({key: _cell(value) for key, value in values.items()} | summary)
        return pl.DataFrame(rows, infer_schema_length=None)


@dataclass(frozen=True)
class Study:
    """A study that can run: every point has been parsed."""

    name: str
    points: list[Point]
    seeds: list[int]

    @classmethod
    def load(
        cls, path: Path | str, *, seeds: int | Sequence[int] | None = None, sets: Mapping[str, Any] | None = None
    ) -> Study:
        """Read a study file; `seeds` replaces the file's, and `sets` keys of the scenario by dotted path."""
        path = Path(path)
        try:
            document = read_document(path)
            for key, value in (sets or {}).items():
                _set(document, key, value)
            if "seeds" in document:
                raise InputError("seeds: belongs into the table [sweep]; move it there")
            sweep = document.pop("sweep", {})
            if not isinstance(sweep, dict):
                raise InputError('sweep: not a table; write e.g. [sweep] and "link.aqm" = ["codel", "pie"] below it')
            file_seeds = sweep.pop("seeds", None)
            points = [_point(document, values, path.parent) for values in combinations(sweep)]
            chosen = seeds if seeds is not None else file_seeds
            fallback = [points[0].scenario.seed]
            return cls(path.stem, points, fallback if chosen is None else _checked_seeds(chosen))
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{path}: {error}; mend the TOML there") from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @property
    def swept(self) -> list[str]:
        """Dotted paths that are swept."""
        return list(self.points[0].values)

    def run(
        self,
        root: Path | None = None,
        *,
        jobs: int | None = None,
        command: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> StudyResult:
        """Do every run that `root` does not hold yet; the result does not depend on `jobs`."""
        runs = [Run(point.scenario, seed) for point in self.points for seed in self.seeds]
        return StudyResult(self, run_all(runs, root, jobs=jobs, command=command, progress=progress))


def read_document(path: Path, extended: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Read a study file on top of the one that it extends, if it extends one."""
    if path in extended:
        raise InputError(f'extends: "{path.name}" extends itself; leave it out in one of the files')
    document: dict[str, Any] = tomllib.loads(read_text(path))
    base = document.pop("extends", None)
    if base is None:
        return document
    if not isinstance(base, str):
        raise InputError('extends: not the name of a file; write e.g. extends = "setup.toml"')
    return _merged(read_document(path.parent / base, (*extended, path)), document)


def sources(path: Path) -> dict[str, str]:
    """Text of a study file and of those that it extends, by name; what they start from comes first."""
    text = read_text(path)
    base = tomllib.loads(text).get("extends")
    return (sources(path.parent / base) if base else {}) | {path.name: text}


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The tables of `changes` on top of those of `base`; anything else replaces what is there."""
    both = base | changes
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            both[key] = _merged(base[key], value)
    return both


def _point(document: dict[str, Any], values: dict[str, Any], base: Path) -> Point:
    changed = copy.deepcopy(document)
    for path, value in values.items():
        _set(changed, path, value)
    return Point(values, Scenario.parse(json.dumps(changed, default=str), base=base))


def _set(document: Any, path: str, value: Any) -> None:
    """Set a dotted path; what the path means is for the core to judge."""
    *parents, last = path.split(".")
    here = document
    for step in parents:
        here = _element(here, step, path) if isinstance(here, list) else here.setdefault(step, {})
        if not isinstance(here, dict | list):
            break
    if not isinstance(here, dict):
        raise InputError(f"sweep.{path}: there is no such key; name one of the scenario, e.g. link.aqm")
    here[last] = value


def _element(items: list[Any], step: str, path: str) -> Any:
    if not step.isdigit() or int(step) >= len(items):
        raise InputError(f'sweep.{path}: "{step}" is none of 0 to {len(items) - 1}; number the entries from 0')
    return items[int(step)]


def _checked_seeds(seeds: Any) -> list[int]:
    whole = isinstance(seeds, int) or (isinstance(seeds, list) and all(isinstance(seed, int) for seed in seeds))
    if not whole or (isinstance(seeds, int) and seeds < 1):
        raise InputError(f"sweep.seeds: {seeds} is neither a number of seeds nor a list of them; write e.g. 20")
    return seed_list(seeds)


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value
