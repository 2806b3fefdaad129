"""The result of one run: its summary and its tables as Polars frames."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.errors import InputError
from sojourn.scenario import Scenario

if TYPE_CHECKING:
    from sojourn._core import Output

LINKS = ("forward", "reverse")
ECN = ("not-ect", "ect1", "ect0", "ce")
FATES = ("sent", "marked", "dropped: limit", "dropped: early", "dropped: late", "dropped: hard limit")


class Result:
    """One run. Frames carry units in their names: `time_s`, `sojourn_ms`; a link is "forward" or "reverse"."""

    def __init__(
        self, scenario: Scenario, seed: int, totals: Mapping[str, Any], tables: Mapping[str, Callable[[], pl.DataFrame]]
    ) -> None:
        """Combine a summary with tables that are made or read when asked for."""
        self.scenario = scenario
        self.seed = seed
        self.totals = dict(totals)
        self.folder: Path | None = None
        self.found = False
        """Whether it was read from earlier results instead of being simulated now."""
        self._tables = dict(tables)

    @classmethod
    def of(cls, scenario: Scenario, seed: int, output: Output) -> Result:
        """Wrap what the core returned."""
        frames = {name: pl.DataFrame(columns) for name, columns in output.tables().items()}
        tables = {name: (lambda frame=frame: frame) for name, frame in frames.items()}
        return cls(scenario, seed, json.loads(output.summary), tables)

    @property
    def fingerprint(self) -> str:
        """64-bit fingerprint of all verdicts and departures, as 16 hexadecimal digits."""
        return str(self.totals["fingerprint"])

    @property
    def table_names(self) -> list[str]:
        """Names of the tables that this run recorded."""
        return sorted(self._tables)

    def table(self, name: str) -> pl.DataFrame:
        """Return a table as recorded: integer nanoseconds, links and fates by number."""
        if name not in self._tables:
            where = self.folder or "this result"
            raise InputError(f"{where} has no table {name!r}; run it again with {_PROBES.get(name, 'its probe')}")
        return self._tables[name]()

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row about the forward link: utilisation, goodput, delays, drops, marks, fairness, fingerprint."""
        return pl.DataFrame([{"aqm": self.scenario.aqm, "seed": self.seed, **flat_summary(self.totals)}])

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per link."""
        return pl.DataFrame([{"link": link, **_flat_link(self.totals["links"][link])} for link in LINKS])

    @cached_property
    def flow_totals(self) -> pl.DataFrame:
        """One row per flow: goodput, bytes, retransmissions, timeouts."""
        return pl.DataFrame(self.totals["flows"])

    @property
    def packets(self) -> pl.DataFrame:
        """Every packet of both links that was sent or dropped (probe `packets`), with its sojourn time and fate."""
        return _named(self.table("packets"))

    @property
    def waiting(self) -> pl.DataFrame:
        """Packets that were in the queues when the run ended (probe `packets`)."""
        return _named(self.table("waiting"))

    @property
    def queue(self) -> pl.DataFrame:
        """Queue length over time (probe `queue`)."""
        return _named(self.table("queue"))

    @property
    def flows(self) -> pl.DataFrame:
        """Window, RTT and goodput of each flow over time (probe `flows`)."""
        return _named(self.table("flows"))

    @property
    def state(self) -> pl.DataFrame:
        """State variables of the AQM over time, by name (probe `state`)."""
        return _named(self.table("state"))

    @property
    def utilisation(self) -> pl.DataFrame:
        """Utilisation per step and link (probe `utilisation`)."""
        return _named(self.table("utilisation"))

    @property
    def histogram(self) -> pl.DataFrame:
        """Histogram of sojourn time of all packets sent in the window; mergeable over runs."""
        frame = self.table("sojourn_histogram")
        lower, upper = pl.col("lower_ns") / 1e6, pl.col("upper_ns") / 1e6
        return frame.select(_link_name(), lower.alias("lower_ms"), upper.alias("upper_ms"), "count")

    def __repr__(self) -> str:
        return f"<Result {self.scenario.aqm}, seed {self.seed}: {self.fingerprint}>"

    def _repr_html_(self) -> str:
        return str(self.summary._repr_html_())


def flat_summary(totals: Mapping[str, Any]) -> dict[str, Any]:
    """Summary of the forward link and of the whole run as one flat row."""
    whole = {key: totals[key] for key in ("goodput_bps", "jain", "events", "fingerprint")}
    return {**_flat_link(totals["links"]["forward"]), **whole}


def _flat_link(link: Mapping[str, Any]) -> dict[str, Any]:
    row = {key: value for key, value in link.items() if not isinstance(value, dict)}
    row |= {f"dropped_{reason.replace('-', '_')}": n for reason, n in link["dropped_by"].items()}
    return row | {f"sojourn_{key}_ms": value for key, value in link["sojourn_ms"].items()}


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """Seconds, milliseconds and names instead of nanoseconds and numbers."""
    units = {"time_ns": ("time_s", 1e9), "sojourn_ns": ("sojourn_ms", 1e6)}
    columns = []
    for name in frame.columns:
        if name in units:
            columns.append((pl.col(name) / units[name][1]).alias(units[name][0]))
        else:
            columns.append(_name(name, _NAMES[name]) if name in _NAMES else pl.col(name))
    return frame.select(columns)


def _link_name() -> pl.Expr:
    return _name("link", LINKS)


def _name(column: str, names: Sequence[str]) -> pl.Expr:
    return pl.col(column).replace_strict(dict(enumerate(names)), return_dtype=pl.Enum(names))


_NAMES = {"link": LINKS, "fate": FATES, "ecn": ECN}


_PROBES = {
    "packets": "--set probes.packets=true",
    "waiting": "--set probes.packets=true",
    "queue": '--set probes.queue="10 ms"',
    "flows": '--set probes.flows="100 ms"',
    "state": '--set probes.state="10 ms"',
    "utilisation": '--set probes.utilisation="1 s"',
}
