"""Rehearsal of a change: its effect on calls, games, pages and bulk traffic, with the same seeds before and after."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from sojourn.base.errors import InputError
from sojourn.io.tc.disciplines import CAKE
from sojourn.model.analysis.stats import PairedDifference, paired_difference
from sojourn.model.aqms.registry import find, parsed, registry
from sojourn.model.aqms.spelling import spelled_aqm
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.runs.runner import Run, Runner

LINKS = {"forward": "link", "reverse": "reverse"}
"""The link of a direction."""
SHAPERS = {"cake": "bandwidth", "cake_mq": "bandwidth", "tbf": "rate", "class": "rate", "netem": "rate"}
"""Name of a qdisc or HTB class, and the parameter that holds its shaping rate."""


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
            if parts:
                found.append(f"{title}: {'; '.join(parts)}.")
        return found

    def _of(self, about: Sequence[str]) -> Iterator[MetricChange]:
        yield from (one for one in self.numbers if one.about in about)


def rehearse(
    scenario: Scenario, changes: Sequence[str], directions: Sequence[str], seeds: Sequence[int], runner: Runner
) -> Rehearsal:
    """Run a scenario unchanged and with all of `changes`, with each seed."""
    after = scenario
    for change in changes:
        after = apply_change(after, change, directions)
    if after.document == scenario.document:
        raise InputError(f"--change: {'; '.join(changes)} changes nothing; the scenario already has it")
    _check_shapers(scenario, after, "; ".join(changes))
    if not list(_numbers(scenario)):
        raise InputError("flows: no calls (voice), games (cbr), pages (browser, web), bulk (tcp) or captures in it")
    results = runner([Run(one, seed) for one in (scenario, after) for seed in seeds])
    pair = results[: len(seeds)], results[len(seeds) :]
    return Rehearsal(scenario, after, pair, _compare(scenario, *pair))


def apply_change(scenario: Scenario, text: str, directions: Sequence[str]) -> Scenario:
    """Apply a change to a scenario.

    `link.rate=20mbit` sets a key; `fq_codel target 10ms` replaces the queue manager, and `target 10ms` changes a
    parameter of the existing one, also within braces, in each direction whose queue manager has such a parameter.
    """
    key, equals, value = text.partition("=")
    if equals:
        return scenario.replace({key.strip(): value.strip()})
    if not text.split():
        raise InputError('--change: empty; write e.g. "target 10ms" or "link.rate=20mbit"')
    if scenario.is_graph:
        raise InputError(f'--change: {text}: the scenario has several links; write e.g. links.0.aqm="{text}"')
    if re.match(r"[\w@]+", text.split()[0].partition("(")[0])[0].partition("@")[0] in _names():  # type: ignore[index]
        parsed(text)
        return scenario.replace({f"{LINKS[direction]}.aqm": text for direction in directions})
    sets: dict[str, str] = {}
    for direction in directions:
        path = f"{LINKS[direction]}.aqm"
        spelled = _spelling(scenario, path)
        new = re.sub(r"[^{};]+", lambda found: _with_words(found[0], text.split()), spelled)
        if new != spelled:
            sets[path] = new
    if not sets:
        raise InputError(
            f'--change: no queue manager of the scenario accepts "{text}"; sojourn aqm show NAME lists parameters'
        )
    return scenario.replace(sets)


def shaped_rate(spelled: str) -> str | None:
    """Rate of the outermost shaper in the spelling of a qdisc; None without a shaper."""
    for piece in re.split(r"[{};]", spelled):
        name, *words = piece.split() or [""]
        key = SHAPERS.get(name.partition("@")[0])
        rate = words[words.index(key) + 1] if key is not None and key in words[:-1] else None
        if rate is not None and not re.fullmatch(r"unlimited|0(\.0+)?(bit(/s)?)?", rate):
            return rate
    return None


def _check_shapers(before: Scenario, after: Scenario, change: str) -> None:
    """Raise `InputError` if a change removes a shaper: the bottleneck would move to a line of assumed rate."""
    for path in before.aqm_tables:
        rate = shaped_rate(_spelling(before, path))
        if rate is not None and (path not in after.aqm_tables or shaped_rate(_spelling(after, path)) is None):
            raise InputError(
                f"--change: {change}: removes the shaper of {path} ({rate}), and the line rate behind it is unknown; "
                f'keep its rate, e.g. "cake bandwidth {rate}" or "tbf rate {rate} burst 5kb limit 30kb {{ fq_codel '
                '}"'
            )


def _names() -> set[str]:
    return {str(entry["name"]) for entry in registry()["aqms"]}


def _spelling(scenario: Scenario, path: str) -> str:
    return spelled_aqm(scenario.aqm_tables[path])


def _with_words(spec: str, words: list[str]) -> str:
    """A qdisc with other parameters; unchanged if it is no qdisc, or lacks them."""
    name = spec.split()[0].partition("@")[0] if spec.split() else ""
    if name not in _names():
        return spec
    params = {param["name"]: param["kind"] for param in find(name)["params"]}
    named = [param for param, _ in _paired(words, params)]
    if not set(named) <= set(params):
        return spec
    kept = [word for param, word in _paired(spec.split()[1:], params) if param not in named]
    made = " ".join([spec.split()[0], *kept, *words])
    inside = str(parsed(made)["text"])
    lead, trail = spec[: len(spec) - len(spec.lstrip())], spec[len(spec.rstrip()) :]
    return f"{lead}{inside}{trail}"


def _paired(words: list[str], params: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Parameters with the words that set them; `noecn` sets `ecn`, and CAKE's `besteffort` sets `tins`."""
    left = list(words)
    while left:
        word = left.pop(0)
        name = word.replace("-", "_")
        alone = next((param for param, words in CAKE.items() if word in words and "tins" in params), None)
        if alone:
            yield alone, word
        elif params.get(name) == "flag":
            yield name, word
        elif params.get(name.removeprefix("no")) == "flag":
            yield name.removeprefix("no"), word
        else:
            yield name, f"{word} {left.pop(0)}" if left else word


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


ABOUT = {
    "voice": "calls",
    "cbr": "games",
    **dict.fromkeys(("browser", "web", "packmime"), "pages"),
    "tcp": "bulk",
    "pcap": "capture",
}
"""Category of traffic by kind of flow."""
