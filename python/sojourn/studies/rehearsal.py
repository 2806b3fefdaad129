"""Rehearsal of a change: its effect on calls, games, pages and bulk traffic, with the same seeds before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Any

from sojourn.base.errors import InputError
from sojourn.engines.hosts import homes_of
from sojourn.model.analysis.stats import PairedDifference, paired_difference
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.change import LINKS, TOWARDS, apply_changes, line_rate_bps, rate_text, shaping_of
from sojourn.studies.runs.runner import Run, Runner


@dataclass(frozen=True)
class MetricChange:
    """A user-visible metric, before and after."""

    about: str
    """`calls`, `games`, `pages` or `bulk`."""
    name: str
    unit: str
    digits: int
    before: float
    """Mean over the seeds."""
    after: float
    paired: PairedDifference

    @property
    def text(self) -> str:
        """Values before and after, and whether the difference is significant over the seeds."""
        unit = f" {self.unit}" if self.unit else ""
        if self.before == self.after and self.paired.difference == 0:
            return f"{self.name} {self.before:.{self.digits}f}{unit} as before"
        values = f"{self.name} {self.before:.{self.digits}f} → {self.after:.{self.digits}f}{unit}"
        if self.paired.ci95 is None:
            return values
        span = f"{self.paired.difference:+.{self.digits}f} ± {self.paired.ci95:.{self.digits}f}"
        return f"{values} ({span}{'' if self.paired.significant else ', no clear difference'})"


@dataclass(frozen=True)
class Rehearsal:
    """Effect of a change."""

    before: Scenario
    after: Scenario
    results: tuple[list[Result], list[Result]]
    """Before and after, by seed."""
    numbers: list[MetricChange]

    @property
    def sentences(self) -> list[str]:
        """Sentences about calls and games, pages, bulk, and a capture, for those in the traffic."""
        found = []
        titles = {
            "Calls and games": ("calls", "games"),
            "Pages": ("pages",),
            "Bulk": ("bulk",),
            "Capture": ("capture",),
        }
        for title, about in titles.items():
            parts = [f"{one.about} {one.text}" if len(about) > 1 else one.text for one in self._of(about)]
            groups = [n for n, flow in enumerate(self.before.document["flows"]) if ABOUT.get(flow["kind"]) in about]
            if parts:
                found.append(f"{title}: {'; '.join(parts)}. {_setting(self, groups)}")
            elif groups:
                found.append(f"{title}: {_reason(self.before)}")
        return found

    def _of(self, about: Sequence[str]) -> Iterator[MetricChange]:
        yield from (one for one in self.numbers if one.about in about)


def rehearse(
    scenario: Scenario, changes: Sequence[str], directions: Sequence[str], seeds: Sequence[int], runner: Runner
) -> Rehearsal:
    """Run a scenario unchanged and with all of `changes`, with each seed."""
    after = apply_changes(scenario, changes, directions)
    if not list(_numbers(scenario)):
        raise InputError("flows: no calls (voice), games (cbr), pages (browser, web), bulk (tcp) or captures in it")
    results = runner([Run(one, seed) for one in (scenario, after) for seed in seeds])
    pair = results[: len(seeds)], results[len(seeds) :]
    return Rehearsal(scenario, after, pair, _compare(scenario, *pair))


def _setting(found: Rehearsal, groups: Sequence[int]) -> str:
    """Sentence with the rate of each direction, the hosts of `groups`, and the assumptions."""
    known, assumed = _hosts(found.before, groups)
    rates, lines = [], []
    for direction, link in LINKS.items():
        old, new = (_rate(one, f"{link}.aqm") for one in (found.before, found.after))
        rates.append(f"{old} {TOWARDS[direction]}" if old == new else f"{old} → {new} {TOWARDS[direction]}")
        line_bps = line_rate_bps(found.after, f"{link}.aqm")
        if shaping_of(found.after, f"{link}.aqm").has_shaper and line_bps < inf:
            lines.append(f"{rate_text(line_bps)} {TOWARDS[direction]}")
    if lines:
        assumed.append(f"lines of {' and '.join(lines)} behind the shaper")
    parts = [f"Rate {', '.join(rates)}", *known]
    if assumed:
        parts.append(f"assumed: {'; '.join(assumed)}")
    return f"{'; '.join(parts)}."


def _hosts(scenario: Scenario, groups: Sequence[int]) -> tuple[list[str], list[str]]:
    """Number of hosts of `groups`: as the scenario names them, and as assumed."""
    document = scenario.document
    flows = [document["flows"][number] for number in groups]
    if any(flow["kind"] == "pcap" for flow in flows):
        return ["the hosts of the capture"], []
    if "nodes" not in document and not any(NAMES & flow.keys() for flow in flows):
        return [], ["1 pair of hosts" if len(groups) == 1 else f"{len(groups)} pairs of hosts, one per group of flows"]
    of_group = homes_of(document)
    pairs = [pair for number in groups for pair in of_group[number]]
    home, beyond = (len({pair[end] for pair in pairs}) for end in (0, 1))
    return [f"{home} {'host' if home == 1 else 'hosts'} at home, {beyond} beyond"], []


def _reason(scenario: Scenario) -> str:
    """Sentence that says why there is no number."""
    warmup, duration = scenario.document["warmup"], scenario.document["duration"]
    return (
        f"none of it between the warm-up ({warmup}) and the end ({duration}); --set warmup=0s counts the whole run, "
        "and --set duration=TIME makes it longer."
    )


def _rate(scenario: Scenario, path: str) -> str:
    rate_bps = min(shaping_of(scenario, path).rate_bps, line_rate_bps(scenario, path))
    return rate_text(rate_bps) if rate_bps < inf else "that of the channel"


def _compare(scenario: Scenario, before: Sequence[Result], after: Sequence[Result]) -> list[MetricChange]:
    found = []
    for about, name, unit, digits, read in _numbers(scenario):
        pairs = [
            (old, new)
            for one, two in zip(before, after, strict=True)
            if (old := read(one)) is not None and (new := read(two)) is not None
        ]
        if pairs:
            olds, news = [old for old, _ in pairs], [new for _, new in pairs]
            found.append(
                MetricChange(about, name, unit, digits, fmean(olds), fmean(news), paired_difference(olds, news))
            )
    return found


def _numbers(scenario: Scenario) -> Iterator[tuple[str, str, str, int, Any]]:
    """User-visible metrics: the worse direction for calls and games, each direction for bulk."""
    kinds: dict[str, list[int]] = {}
    for number, flow in enumerate(scenario.document["flows"]):
        kinds.setdefault(ABOUT.get(flow["kind"], ""), []).append(number)
    if "calls" in kinds:
        yield "calls", "MOS", "", 2, _worst(kinds["calls"], "mos", min)
    if "games" in kinds:
        yield "games", "delay", "ms", 1, _worst(kinds["games"], "delay_ms", max)
        yield "games", "jitter", "ms", 2, _worst(kinds["games"], "delay_variation_ms", max)
    for about in ("calls", "games"):
        if about in kinds:
            yield about, "loss", "%", 2, _worst(kinds[about], "loss_rate", max, 100)
    if "pages" in kinds:
        for quantile, name in (("p50", "median"), ("p95", "95 % within")):
            yield "pages", name, "s", 2, _time(kinds["pages"], quantile)
    if "capture" in kinds:
        for quantile, name in (("p50", "transfers, median"), ("p95", "95 % of them within")):
            yield "capture", name, "s", 2, _time(kinds["capture"], quantile)
        yield "capture", "packets' delay", "ms", 1, _worst(kinds["capture"], "delay_ms", max)
        yield "capture", "their loss", "%", 2, _worst(kinds["capture"], "loss_rate", max, 100)
    for direction in LINKS:
        groups = [number for number in kinds.get("bulk", []) if _direction(scenario, number) == direction]
        if groups:
            yield "bulk", "down" if direction == "forward" else "up", "Mbit/s", 2, _sum(groups)


def _direction(scenario: Scenario, number: int) -> str:
    return str(scenario.document["flows"][number].get("direction", "forward"))


def _worst(groups: Sequence[int], name: str, of: Any, factor: float = 1) -> Any:
    def read(result: Result) -> float | None:
        values = [result.totals["groups"][number][name] for number in groups]
        known = [value for value in values if value is not None]
        return factor * float(of(known)) if known else None

    return read


def _time(groups: Sequence[int], quantile: str) -> Any:
    def read(result: Result) -> float | None:
        values = [(result.totals["groups"][number]["completion_ms"] or {}).get(quantile) for number in groups]
        known = [value for value in values if value is not None]
        return max(known) / 1000 if known else None

    return read


def _sum(groups: Sequence[int]) -> Any:
    def read(result: Result) -> float:
        return float(sum(result.totals["groups"][number]["goodput_bps"] for number in groups)) / 1e6

    return read


NAMES = {"host", "peer_host", "hosts"}
"""Keys of flows that name hosts."""
ABOUT = {
    "voice": "calls",
    "cbr": "games",
    **dict.fromkeys(("browser", "web", "packmime"), "pages"),
    "tcp": "bulk",
    "pcap": "capture",
}
"""Category of traffic by kind of flow."""
