"""Keys that are drawn from distributions by the seed: the table `[draw]` of scenario and study files.

Each key has a number of its own in [0, 1), made from the seed and the key's path, so that another key in the table
changes nothing for it. Numbers are rounded to six significant digits: they can be written down, and the last bits of a
logarithm do not matter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError
from sojourn.base.units import factor_between, in_digits, interpolated, read_quantity, written_quantity

Distribution = Callable[[float], Any]
"""The value at a place in [0, 1)."""


@dataclass(frozen=True)
class Draw:
    """The distributions of a `[draw]` table, by the paths as they are written there."""

    distributions: Mapping[str, Distribution]

    @classmethod
    def read(cls, table: Any, base: Path) -> Draw:
        """Read a table; patterns of files are relative to `base`."""
        if not isinstance(table, Mapping) or not table:
            raise InputError(f"draw: not a table of distributions; {EXAMPLE}")
        return cls({path: _distribution(path, found, base) for path, found in _flatten(table)})

    @classmethod
    def take(cls, document: dict[str, Any], base: Path) -> Draw | None:
        """Take the table `[draw]` out of a document, if there is one."""
        return cls.read(document.pop("draw"), base) if "draw" in document else None

    @property
    def paths(self) -> list[str]:
        """Dotted paths that are drawn; `"link.rate, reverse.rate"` draws one value for both."""
        return [path for paths in self.distributions for path in _split(paths)]

    def values(self, seed: int) -> dict[str, Any]:
        """What a seed draws, by dotted path."""
        drawn = {paths: at(_place(seed, paths)) for paths, at in self.distributions.items()}
        return {path: value for paths, value in drawn.items() for path in _split(paths)}


@dataclass(frozen=True)
class Between:
    """A number between two ends; a whole one may be either of them."""

    low: float
    high: float
    unit: str
    whole: bool
    by_logarithm: bool
    """Equal factors are as likely, not equal steps."""

    def __call__(self, at: float) -> Any:
        """The number at a place, as a scenario takes it."""
        high = self.high + 1 if self.whole else self.high
        number = interpolated(self.low, high, at, by_logarithm=self.by_logarithm)
        if self.whole:
            return min(int(self.high), floor(number))
        return written_quantity(in_digits(number, self.low, self.high), self.unit)


@dataclass(frozen=True)
class OneOf:
    """One of some values, each as likely."""

    values: tuple[Any, ...]

    def __call__(self, at: float) -> Any:
        """The value at a place."""
        return self.values[floor(at * len(self.values))]


def _uniform(place: str, found: Any, _base: Path) -> Distribution:
    """Each number between two ends as likely."""
    return _between(place, found, by_logarithm=False)


def _log_uniform(place: str, found: Any, _base: Path) -> Distribution:
    """The same of the logarithm."""
    between = _between(place, found, by_logarithm=True)
    if between.low <= 0:
        raise InputError(f"{place}: {found[0]} has no logarithm; begin above zero, or write uniform")
    return between


def _choice(place: str, found: Any, _base: Path) -> Distribution:
    """Each value of a list as likely."""
    if not isinstance(found, list) or not found:
        raise InputError(f'{place}: not a list of values; write e.g. ["codel", "pie"]')
    return OneOf(tuple(found))


def _trace(place: str, found: Any, base: Path) -> Distribution:
    """Each file of a pattern as likely, in the order of their names."""
    if not isinstance(found, str) or not found:
        raise InputError(f'{place}: not a pattern of files; write e.g. "traces/*.down"')
    root, pattern = (Path("/"), found[1:]) if found.startswith("/") else (base, found)
    files = sorted(str(file if root != base else file.relative_to(base)) for file in root.glob(pattern))
    if not files:
        raise InputError(f'{place}: no file is called "{found}"; give a pattern that some are, e.g. "traces/*.down"')
    return OneOf(tuple(files))


def seed_of(document: Mapping[str, Any], sets: Mapping[str, object] | None = None) -> Any:
    """Seed that draws where none is asked for: the one that is set, else the file's; the core judges what it is."""
    seed = {**document, **(sets or {})}.get("seed", 1)
    return int(seed) if isinstance(seed, str) and seed.isdecimal() else seed


DISTRIBUTIONS: Mapping[str, Callable[[str, Any, Path], Distribution]] = {
    "uniform": _uniform,
    "log_uniform": _log_uniform,
    "choice": _choice,
    "trace": _trace,
}
"""By name: what reads the rest of an entry."""
EXAMPLE = 'write e.g. "link.rate" = { log_uniform = ["2 Mbit/s", "100 Mbit/s"] }'


def _distribution(path: str, found: Any, base: Path) -> Distribution:
    place = f"draw.{path}"
    if not isinstance(found, Mapping) or len(found) != 1 or not found.keys() <= DISTRIBUTIONS.keys():
        raise InputError(f"{place}: not one of the distributions {', '.join(DISTRIBUTIONS)}; {EXAMPLE}")
    [(kind, about)] = found.items()
    return DISTRIBUTIONS[kind](f"{place}.{kind}", about, base)


def _between(place: str, found: Any, *, by_logarithm: bool) -> Between:
    if not isinstance(found, list) or len(found) != 2:
        raise InputError(f'{place}: not two ends; write e.g. ["10 ms", "200 ms"]')
    (low, low_unit), (high, unit) = (read_quantity(place, end) for end in found)
    scale = factor_between(low_unit, unit)
    if scale is None:
        raise InputError(f'{place}: its ends have different units; write both in "{unit or low_unit}"')
    first, last = float(low) * scale, float(high)
    if first >= last:
        raise InputError(f"{place}: an empty range; write its smaller end first")
    return Between(first, last, unit, all(isinstance(end, int) for end in found), by_logarithm)


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Pairs of dotted path and entry; `link.rate` means the same with and without quotes."""
    for key, found in table.items():
        if isinstance(found, Mapping) and found and not DISTRIBUTIONS.keys() & found.keys() and _has_tables(found):
            yield from _flatten(found, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", found


def _has_tables(found: Mapping[str, Any]) -> bool:
    return all(isinstance(value, Mapping) for value in found.values())


def _split(paths: str) -> list[str]:
    return [path.strip() for path in paths.split(",")]


def _place(seed: int, path: str) -> float:
    """A number in [0, 1) from the seed and a path."""
    digest = hashlib.sha256(json.dumps(["draw", seed, path]).encode()).digest()
    return float((int.from_bytes(digest[:8], "big") >> 11) / 2**53)
