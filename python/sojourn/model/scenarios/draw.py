"""Keys drawn from distributions by the seed: the table `[draw]` of scenario and study files.

Each key has its own number in [0, 1), derived from the seed and the key's path, so adding a key to the table does not
change the others. Values are rounded to six significant digits: they can be written down, and the last bits of a
logarithm do not matter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import floor
from pathlib import Path
from string import Formatter
from typing import Any

from sojourn.base.dotted import check_distinct, split_paths
from sojourn.base.errors import InputError
from sojourn.base.units import factor_between, format_quantity, interpolate, read_quantity, round_to_digits

Choose = Callable[[str, "Leaf"], Any]
"""Callback that returns the value of a leaf; its name is the key's path plus the names of the parts."""


class Distribution:
    """A distribution for one key or several."""

    def leaves(self, name: str) -> Iterator[tuple[str, Leaf]]:
        """Yield each leaf, which takes a random number of its own, with its name."""
        raise NotImplementedError

    def values(self, path: str, name: str, choose: Choose) -> Iterator[tuple[str, Any]]:
        """Yield dotted paths and their values."""
        raise NotImplementedError


class Leaf(Distribution):
    """A distribution that takes one random number. `path` may be several paths, which get the same value."""

    def __call__(self, at: float) -> Any:
        """Return the value at `at` in [0, 1)."""
        raise NotImplementedError

    def leaves(self, name: str) -> Iterator[tuple[str, Leaf]]:
        """Yield itself."""
        yield name, self

    def values(self, path: str, name: str, choose: Choose) -> Iterator[tuple[str, Any]]:
        """Yield the value for each of the paths."""
        value = choose(name, self)
        yield from ((one, value) for one in split_paths(path))


@dataclass(frozen=True)
class Draw:
    """The distributions of a `[draw]` table, by the paths as written there."""

    distributions: Mapping[str, Distribution]

    @classmethod
    def read(cls, table: Any, base: Path) -> Draw:
        """Read a table; glob patterns are relative to `base`."""
        if not isinstance(table, Mapping) or not table:
            raise InputError(f"draw: not a table of distributions; {EXAMPLE}")
        draw = cls({path: _distribution(f"draw.{path}", found, base) for path, found in _flatten(table)})
        check_distinct("draw", draw.paths)
        return draw

    @classmethod
    def take(cls, document: dict[str, Any], base: Path) -> Draw | None:
        """Remove the table `[draw]` from a document and read it, if present."""
        return cls.read(document.pop("draw"), base) if "draw" in document else None

    @property
    def paths(self) -> list[str]:
        """Dotted paths that may be drawn; `"link.rate, reverse.rate"` draws one value for both."""
        return [path for paths, found in self.distributions.items() for path in _paths(paths, found)]

    @property
    def leaves(self) -> dict[str, Leaf]:
        """Every leaf, by the name that its random number is derived from."""
        return dict(pair for paths, found in self.distributions.items() for pair in found.leaves(paths))

    def chosen(self, choose: Choose) -> dict[str, Any]:
        """Values by dotted path; `choose` decides the value of each leaf."""
        return dict(pair for paths, found in self.distributions.items() for pair in found.values(paths, paths, choose))

    def values(self, seed: int) -> dict[str, Any]:
        """Values that a seed draws, by dotted path."""
        return self.chosen(lambda name, leaf: leaf(unit_draw(seed, name)))


@dataclass(frozen=True)
class NumberRange(Leaf):
    """A number between two ends; integers include both ends."""

    low: float
    high: float
    unit: str
    whole: bool
    by_logarithm: bool
    """Uniform in the logarithm instead of in the value."""

    def __call__(self, at: float) -> Any:
        """Return the number at `at`, as text for a scenario."""
        high = self.high + 1 if self.whole else self.high
        number = interpolate(self.low, high, at, by_logarithm=self.by_logarithm)
        if self.whole:
            return format_quantity(Decimal(min(int(self.high), floor(number))), self.unit)
        return format_quantity(round_to_digits(number, self.low, self.high), self.unit)


@dataclass(frozen=True)
class Choice(Leaf):
    """One of several values with equal probability."""

    options: tuple[Any, ...]

    def __call__(self, at: float) -> Any:
        """Return the value at `at`."""
        return self.options[floor(at * len(self.options))]


@dataclass(frozen=True)
class TextTemplate(Distribution):
    """A text with drawn parts, such as a schedule."""

    pattern: str
    parts: Mapping[str, Leaf]

    def leaves(self, name: str) -> Iterator[tuple[str, Leaf]]:
        """Yield the leaves of its parts."""
        yield from ((f"{name}.{part}", leaf) for part, leaf in self.parts.items())

    def values(self, path: str, name: str, choose: Choose) -> Iterator[tuple[str, Any]]:
        """Yield the text for each of the paths."""
        text = self.pattern.format_map({part: choose(f"{name}.{part}", leaf) for part, leaf in self.parts.items()})
        yield from ((one, text) for one in split_paths(path))


@dataclass(frozen=True)
class TableChoice(Distribution):
    """One of several tables with equal probability, whose keys may themselves be drawn; its path ends with a star."""

    tables: tuple[Mapping[str, Any], ...]

    @property
    def number(self) -> Choice:
        """Distribution of the table's index."""
        return Choice(tuple(range(len(self.tables))))

    def leaves(self, name: str) -> Iterator[tuple[str, Leaf]]:
        """Yield the index, and all leaves in the tables."""
        yield name, self.number
        for number, table in enumerate(self.tables):
            for key, found in table.items():
                if isinstance(found, Distribution):
                    yield from found.leaves(f"{name}.{number}.{key}")

    def values(self, path: str, name: str, choose: Choose) -> Iterator[tuple[str, Any]]:
        """Yield the keys of the chosen table."""
        number = choose(name, self.number)
        for key, found in self.tables[number].items():
            one = path.removesuffix("*") + key
            if isinstance(found, Distribution):
                yield from found.values(one, f"{name}.{number}.{key}", choose)
            else:
                yield one, found


def _uniform(place: str, found: Any, _base: Path) -> Distribution:
    """Uniform distribution between two ends."""
    return _number_range(place, found, by_logarithm=False)


def _log_uniform(place: str, found: Any, _base: Path) -> Distribution:
    """Uniform distribution of the logarithm between two ends."""
    span = _number_range(place, found, by_logarithm=True)
    if span.low <= 0:
        raise InputError(f"{place}: {found[0]} has no logarithm; start above zero, or write uniform")
    return span


def _choice(place: str, found: Any, base: Path) -> Distribution:
    """Uniform choice from a list of values; below a path with a star, from a list of tables."""
    path = place.removesuffix(".choice")
    if not isinstance(found, list) or not found:
        raise InputError(f'{place}: not a list of values; write e.g. ["codel", "pie"]')
    if not path.endswith(".*"):
        return Choice(tuple(found))
    if not all(isinstance(table, Mapping) and table for table in found):
        raise InputError(f'{place}: not a list of tables; write e.g. [{{ rate = "9 Mbit/s" }}, {{ bucket = … }}]')
    for number, table in enumerate(found):
        check_distinct(f"{path}.{number}", (one for key in table for one in split_paths(key)))
    return TableChoice(
        tuple(
            {key: _parse_value(f"{path}.{number}.{key}", value, base) for key, value in table.items()}
            for number, table in enumerate(found)
        )
    )


def _write(place: str, found: Any, base: Path) -> Distribution:
    """A text in which each `{name}` is replaced by a draw from the entry of that name."""
    pattern = found["write"]
    names = [name for _, name, _, _ in Formatter().parse(pattern) if name is not None] if _has_names(pattern) else []
    parts = {name: part for name, part in found.items() if name != "write"}
    if not names or set(names) != set(parts):
        expected = f"{', '.join(parts)} beside it" if parts else "nothing beside it"
        raise InputError(
            f"{place}: not a text whose names in braces are those of {expected}; write e.g. "
            '{ write = "{one}@0s,{two}@5s", one = { … }, two = { … } }'
        )
    path = place.removesuffix(".write")
    leaves = {name: _distribution(f"{path}.{name}", part, base) for name, part in parts.items()}
    if other := next((name for name, leaf in leaves.items() if not isinstance(leaf, Leaf)), None):
        raise InputError(f"{path}.{other}: a nested write; use a single one")
    return TextTemplate(pattern, {name: leaf for name, leaf in leaves.items() if isinstance(leaf, Leaf)})


def _has_names(pattern: Any) -> bool:
    """Whether the value is a text whose braces contain only names."""
    if not isinstance(pattern, str):
        return False
    try:
        parsed = list(Formatter().parse(pattern))
    except ValueError:
        return False
    return all(name is None or (name.isidentifier() and not form and not how) for _, name, form, how in parsed)


def _parse_value(path: str, found: Any, base: Path) -> Any:
    """Parse a distribution if `found` is one, else return the value unchanged."""
    is_drawn = isinstance(found, Mapping) and not DISTRIBUTIONS.keys().isdisjoint(found)
    return _distribution(path, found, base) if is_drawn else found


def _trace(place: str, found: Any, base: Path) -> Distribution:
    """Uniform choice from the files that match a pattern, sorted by name."""
    if not isinstance(found, str) or not found:
        raise InputError(f'{place}: not a pattern of files; write e.g. "traces/*.down"')
    root, pattern = (Path("/"), found[1:]) if found.startswith("/") else (base, found)
    files = sorted(str(file if root != base else file.relative_to(base)) for file in root.glob(pattern))
    if not files:
        raise InputError(f'{place}: no file matches "{found}"; give a pattern that matches some, e.g. "traces/*.down"')
    return Choice(tuple(files))


def seed_of(document: Mapping[str, Any], sets: Mapping[str, object] | None = None) -> Any:
    """Seed for drawing if none is given: from `sets`, else from the file; the core validates it."""
    seed = {**document, **(sets or {})}.get("seed", 1)
    return int(seed) if isinstance(seed, str) and seed.isdecimal() else seed


DISTRIBUTIONS: Mapping[str, Callable[[str, Any, Path], Distribution]] = {
    "uniform": _uniform,
    "log_uniform": _log_uniform,
    "choice": _choice,
    "trace": _trace,
    "write": _write,
}
"""Parser of the rest of an entry, by name; `write` parses the whole entry."""
EXAMPLE = 'write e.g. "link.rate" = { log_uniform = ["2 Mbit/s", "100 Mbit/s"] }'


def _distribution(place: str, found: Any, base: Path) -> Distribution:
    if isinstance(found, Mapping) and "write" in found:
        return _write(f"{place}.write", found, base)
    if not isinstance(found, Mapping) or len(found) != 1 or not found.keys() <= DISTRIBUTIONS.keys():
        raise InputError(f"{place}: unknown distribution; expected one of {', '.join(DISTRIBUTIONS)}; {EXAMPLE}")
    [(kind, about)] = found.items()
    if place.endswith("*") and kind != "choice":
        raise InputError(f"{place}: a star needs tables as values; write {{ choice = [{{ … }}, {{ … }}] }}")
    return DISTRIBUTIONS[kind](f"{place}.{kind}", about, base)


def _number_range(place: str, found: Any, *, by_logarithm: bool) -> NumberRange:
    if not isinstance(found, list) or len(found) != 2:
        raise InputError(f'{place}: not a range of two ends; write e.g. ["10 ms", "200 ms"]')
    (low, low_unit), (high, unit) = (read_quantity(place, end) for end in found)
    scale = factor_between(low_unit, unit)
    if scale is None:
        raise InputError(f'{place}: its two ends have different units; write both in "{unit or low_unit}"')
    first, last = float(low) * scale, float(high)
    if first >= last:
        raise InputError(f"{place}: an empty range; write its smaller end first")
    whole = unit == "packets" or all(isinstance(end, int) for end in found)
    return NumberRange(first, last, unit, whole, by_logarithm)


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Pairs of dotted path and entry; `link.rate` means the same with and without quotes."""
    for key, found in table.items():
        if isinstance(found, Mapping) and found and not DISTRIBUTIONS.keys() & found.keys() and _has_tables(found):
            yield from _flatten(found, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", found


def _has_tables(found: Mapping[str, Any]) -> bool:
    return all(isinstance(value, Mapping) for value in found.values())


def _paths(paths: str, found: Any) -> list[str]:
    """Dotted paths that an entry may set."""
    if not isinstance(found, TableChoice):
        return split_paths(paths)
    pairs = [(paths.removesuffix("*") + key, one) for table in found.tables for key, one in table.items()]
    return list(dict.fromkeys(path for key, one in pairs for path in _paths(key, one)))


def unit_draw(seed: int, name: str) -> float:
    """Number in [0, 1) derived from a seed and a name."""
    digest = hashlib.sha256(json.dumps(["draw", seed, name]).encode()).digest()
    return float((int.from_bytes(digest[:8], "big") >> 11) / 2**53)
