"""Swept parameters of results: the numbers that differ, and one table of a metric against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.base.errors import InputError, unknown
from sojourn.base.units import quantity
from sojourn.model.analysis.labels import Name, differing, flatten, name_rows, of_direction
from sojourn.model.analysis.metrics import BY_COLUMN, Metric, distinct_runs
from sojourn.model.analysis.stats import mean_ci
from sojourn.model.analysis.warmup import summaries
from sojourn.model.aqms.spelling import spelled_aqm

if TYPE_CHECKING:
    from sojourn.model.results.result import Result


@dataclass(frozen=True)
class Parameter:
    """A numeric key in which results differ: its value in each result, in `unit` (s, bit/s, B, packets or none)."""

    path: str
    values: list[float]
    unit: str
    words: tuple[str, ...] = ()
    """Words of a key without numbers, sorted; the values are indices into them."""

    def named(self, value: float) -> float | str:
        """Displayed value: the number, or the word with that index."""
        return self.words[int(value)] if self.words else value

    @property
    def varies(self) -> bool:
        """Whether it has several values."""
        return len(set(self.values)) > 1

    @property
    def display(self) -> tuple[float, str]:
        """Factor to the display unit, and that unit."""
        most = max(abs(value) for value in self.values)
        reached = [(factor, unit) for least, factor, unit in _SCALES.get(self.unit, ()) if most >= least]
        return reached[-1] if reached else (1.0, self.unit)

    @property
    def shown(self) -> list[float]:
        """Values in the display unit, rounded to 6 significant digits."""
        factor, _ = self.display
        return [float(f"{value * factor:.6g}") for value in self.values]

    @property
    def label(self) -> str:
        """Label of an axis."""
        name = _NAMES.get(self.path, self.path)
        unit = self.display[1]
        return f"{name} [{unit}]" if unit else name


def choose(results: Sequence[Result], paths: Sequence[str | None], *, words: bool = False) -> list[Parameter]:
    """One parameter for each of `paths`; for None the one with most values that is independent of the chosen ones.

    If nothing else differs it is a parameter with a single value. With `words`, a path may be a key with words as
    values, except the queue manager, which distinguishes panels.
    """
    known = parameters(results)
    if words:
        known |= _worded(results, [path for path in paths if path is not None and path not in known])
    fixed = {path for path in known if path.startswith(_AQM) and _is_fixed_by_the_aqm(results, known[path])}
    for path in paths:
        if path is not None and path not in known:
            raise _not_a_number(path, results, known)
    given = [path for path in paths if path is not None]
    if len(set(given)) < len(given):
        raise InputError(f"{given[0]}: given for both axes; name two different keys")
    found: dict[int, Parameter] = {i: known[path] for i, path in enumerate(paths) if path is not None}
    for place in (i for i, path in enumerate(paths) if path is None):
        found[place] = _next({path: one for path, one in known.items() if path not in fixed}, list(found.values()))
    return [found[place] for place in range(len(paths))]


def parameters(results: Sequence[Result]) -> dict[str, Parameter]:
    """Every key, AQM parameters included, that is a number with the same unit in all results."""
    rows = [_numbers(result) for result in results]
    found = {}
    for path in rows[0]:
        if all(path in row for row in rows) and len({row[path][1] for row in rows}) == 1:
            found[path] = Parameter(path, [row[path][0] for row in rows], rows[0][path][1])
    return found


def rest_names(results: Sequence[Result], chosen: Sequence[Parameter]) -> list[Name]:
    """Name each result by the keys in which it differs, except the chosen parameters and the seed.

    Numbers that the chosen parameters determine, such as a limit that changes with the rate, are omitted.
    """
    rows = [of_direction(result) for result in results]
    for row, result in zip(rows, results, strict=True):
        if not result.is_shell:
            row["link.aqm"] = aqm_without(result, chosen)
    numbers = parameters(results)
    taken = {"seed", *(parameter.path for parameter in chosen)}
    decided = {key for key in numbers if _decides(chosen, numbers[key])}
    keys = [key for key in differing(rows) if key not in taken | decided]
    return name_rows(rows, [*keys, "link.aqm"] if "link" in keys else keys)


def aqm_without(result: Result, chosen: Sequence[Parameter]) -> str:
    """Spelling of the queue manager with its chosen parameters at their defaults."""
    left_out = {one.path.removeprefix(_AQM) for one in chosen if one.path.startswith(_AQM)}
    if not left_out:
        return result.scenario.aqm
    table = {key: value for key, value in result.scenario.bottleneck["aqm"].items() if key not in left_out}
    name, bracket, inside = str(table["name"]).partition("(")
    if bracket and "{" not in name:  # the numbers in brackets are the inner manager's values
        words = inside.removesuffix(")").split()
        kept = [word for at, word in enumerate(words) if not {word, words[at - 1] if at else ""} & left_out]
        table["name"] = f"{name}({' '.join(kept)})"
    return spelled_aqm(table)


def metric_of(results: Sequence[Result], column: str) -> Metric:
    """Display properties of a summary's column; raises `InputError` if it does not exist or is not numeric."""
    row = results[0].summary.row(0, named=True)
    about = ("seed", "settled", "not_settled")
    known = [name for name, value in row.items() if name not in about and not isinstance(value, str)]
    if column not in known:
        raise unknown("metric", column, known)
    return BY_COLUMN.get(column, Metric(column, column.replace("_", " ")))


def means(results: Sequence[Result], keys: dict[str, Sequence[Any]], columns: Sequence[str]) -> pl.DataFrame:
    """One row per distinct `keys`, in order of appearance: mean and half width of its 95 % interval, per column.

    The half width is in `…_ci95`, null with fewer than two distinct runs; a mean of no values is null.
    """
    found = summaries(results)
    table = pl.DataFrame(keys).with_columns(
        *(pl.Series(name, [row[name] for row in found], dtype=pl.Float64) for name in columns),
        fingerprint=pl.Series([row["fingerprint"] for row in found]),
    )
    rows = []
    for key, same in table.group_by(list(keys), maintain_order=True):
        group, row = distinct_runs(same), dict(zip(keys, key, strict=True))
        for name in columns:
            values = group[name].drop_nulls().to_list()
            mean, half = mean_ci(values)
            row |= {name: mean if values else None, f"{name}_ci95": half}
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def _next(known: dict[str, Parameter], chosen: Sequence[Parameter]) -> Parameter:
    taken = {parameter.path for parameter in chosen}
    left = [parameter for path, parameter in known.items() if path not in taken]

    def rank(parameter: Parameter) -> tuple[bool, int, int]:
        usual = _PREFERRED.index(parameter.path) if parameter.path in _PREFERRED else len(_PREFERRED)
        return _decides(chosen, parameter), -len(set(parameter.values)), usual

    return min(left, key=rank)


def _is_fixed_by_the_aqm(results: Sequence[Result], parameter: Parameter) -> bool:
    """Whether a queue manager's parameter has one value per queue manager, such as its default."""
    rest = [aqm_without(result, [parameter]) for result in results]
    return len(set(zip(rest, parameter.values, strict=True))) == len(set(rest))


def _decides(chosen: Sequence[Parameter], other: Parameter) -> bool:
    """Whether `other` varies, but is constant wherever the chosen parameters are."""
    if not chosen or len(set(other.values)) == 1:
        return False
    points = list(zip(*(parameter.values for parameter in chosen), strict=True))
    return len(set(zip(points, other.values, strict=True))) == len(set(points))


def _worded(results: Sequence[Result], paths: Sequence[str]) -> dict[str, Parameter]:
    """The keys among `paths` that hold a word in all results."""
    rows = [flatten(result) for result in results]
    found = {}
    for path in paths:
        held = [row.get(path) for row in rows]
        if path != "link.aqm" and all(isinstance(word, str) and quantity(word) is None for word in held):
            words = tuple(sorted(set(map(str, held))))
            found[path] = Parameter(path, [float(words.index(str(word))) for word in held], "", words)
    return found


def _numbers(result: Result) -> dict[str, tuple[float, str]]:
    row = {key: value for key, value in (flatten(result) | result.aqm_parameters).items() if key != "seed"}
    found = {key: quantity(value) for key, value in row.items()}
    return {key: value for key, value in found.items() if value is not None}


def _not_a_number(path: str, results: Sequence[Result], known: dict[str, Parameter]) -> InputError:
    rows = [flatten(result) | result.aqm_parameters for result in results]
    lacking = [result for result, row in zip(results, rows, strict=True) if path not in row]
    if len(lacking) == len(results):
        return unknown("key", path, list(known))
    if lacking:
        return InputError(f"{path}: {lacking[0].scenario.aqm} does not have it; leave out the results without it")
    varying = [name for name, parameter in known.items() if parameter.varies]
    remedy = f"name one such as {varying[0]}" if varying else "leave it out"
    return InputError(f"{path}: not a number of one unit in all results; {remedy}")


_AQM = "link.aqm."
_PREFERRED = ("link.rate", "flows.0.rtt", "flows.0.count", "link.limit", "link.delay")
"""Order of preference among parameters with equally many values."""
_NAMES = {
    "link.rate": "rate of the link",
    "link.limit": "limit of the queue",
    "link.delay": "delay of the link",
    "flows.0.rtt": "round-trip time",
    "flows.0.count": "flows",
}
_SCALES = {
    "s": ((0.0, 1e3, "ms"), (10.0, 1.0, "s")),
    "bit/s": ((0.0, 1.0, "bit/s"), (1e3, 1e-3, "kbit/s"), (1e6, 1e-6, "Mbit/s"), (1e10, 1e-9, "Gbit/s")),
    "B": ((0.0, 1.0, "B"), (1e4, 1e-3, "kB"), (1e7, 1e-6, "MB")),
}
"""By base unit: minimum largest value, factor, and display unit."""
