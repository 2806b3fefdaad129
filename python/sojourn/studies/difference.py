"""First difference between two queue managers, or one and a recording, with the same arrivals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.io.traces.arrivals import Arrivals, from_result, from_vector, random_arrivals
from sojourn.io.traces.module_log import from_module_log
from sojourn.model.aqms.spelling import spelled_aqm
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario, changed_directions
from sojourn.studies.runs.store import load

if TYPE_CHECKING:
    from sojourn.model.aqms.aqm import Aqm

RATE, LIMIT, PACKETS, SEED = "10 Mbit/s", "1000 packets", 20_000, 1
"""Defaults of random arrivals."""
MAX_SHARED = 8
"""Maximum number of pairs of flows assumed to share a bucket."""
MAX_RECENT = 16
"""Number of recent flows considered for sharing a bucket."""


@dataclass(frozen=True)
class Difference:
    """Result of `diff`. Packets are numbered from 0 in order of arrival."""

    a: str
    b: str
    source: str
    """Source of the arrivals and the link, in words."""
    packets: int
    agreeing: int
    """Packets with the same verdict at the same instant."""
    same_verdicts: int
    """Packets with the same verdict, at any time."""
    differing_labels: int
    """Packets that both dropped on arrival, but only one of them reported to the sender; they count as agreeing."""
    first_difference: dict[str, Any] | None
    """First packet treated differently, and both queues before its verdict; None if there is none."""
    instead: str | None = None
    """Name of the matching variant, if a Linux recording is compared with another variant `a`."""
    directions: dict[str, Difference] = field(default_factory=dict)
    """Of a log with several directions under the manager: each by its name; the numbers above are their sums."""
    shared_buckets: tuple[tuple[int, int], ...] = ()
    """Flows that the kernel must have hashed to one bucket, as all packets agree only then."""

    @property
    def agreement_percent(self) -> float:
        """Share of the packets with the same verdict at the same instant, in percent."""
        return 100.0 * self.agreeing / self.packets

    def to_dict(self) -> dict[str, Any]:
        """All fields, as printed by `sojourn aqm diff --json`."""
        return {
            "a": self.a,
            "b": self.b,
            "source": self.source,
            "packets": self.packets,
            "agreeing": self.agreeing,
            "same_verdicts": self.same_verdicts,
            "differing_labels": self.differing_labels,
            "agreement_percent": self.agreement_percent,
            "instead": self.instead,
            "shared_buckets": [list(pair) for pair in self.shared_buckets],
            "first_difference": self.first_difference,
            "directions": {name: one.to_dict() for name, one in self.directions.items()},
        }


def diff(
    a: Aqm | str | None,
    b: Aqm | str | None = None,
    *,
    vector: Path | str | None = None,
    scenario: Scenario | Path | str | None = None,
    log: Result | Path | str | None = None,
    link: str | None = None,
    rate: str | None = None,
    limit: str | None = None,
    packets: int | None = None,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Difference:
    """Play the same arrivals through `a` and `b` and find the first packet that they treat differently.

    The arrivals are random (`rate`, `packets`), or those of a kernel `vector`, of a `log` (a result with the probe
    `packets`, or the log of the kernel module, whose line is `a` if it is None), or of a run of `scenario` under `a`.
    Without `b`, `a` is compared with the recorded verdicts of the vector or log. Senders do not react to verdicts.
    `limit` and `seed` replace the recorded ones.

    Of a log, every direction under a manager with the name of `a` is compared, else the one with most bytes; or `link`.
    Changes of rate and limit happen as in the run, those of the manager if `a` is the recorded one.
    """
    sources = [name for name, value in (("vector", vector), ("scenario", scenario), ("log", log)) if value is not None]
    if len(sources) > 1:
        raise InputError(f"{' and '.join(sources)} exclude each other; give one source of arrivals")
    if sources and (rate is not None or packets is not None):
        raise InputError(f"rate and packets are for synthetic arrivals; the {sources[0]} has its own")
    if link is not None and log is None:
        raise InputError("link: names a link of a log; give the log, or leave it out")
    if b is None and sources not in (["vector"], ["log"]):
        raise InputError("nothing to compare with; give a second AQM, a vector or a log")
    if seed is not None and not 0 <= seed < 2**64:
        raise InputError(f"seed: {seed} is out of range; from 0 to {2**64 - 1}")
    if log is not None and not isinstance(log, Result) and Path(log).is_file():
        return _diff_module_log(Path(log), (a, b), link, (limit, seed), progress)
    if a is None:
        raise InputError(
            "no queue manager; give one, e.g. codel (only the log of a kernel module has a line of its own)"
        )
    texts = [spelled_aqm(_text(aqm)) for aqm in (a, b) if aqm is not None]
    if scenario is not None:
        callback = progress or (lambda _share: None)
        arrivals = _recorded_under(texts[0], scenario, seed, lambda share: callback(share / 2))
        return _diff(arrivals, texts, limit, lambda share: callback(0.5 + share / 2))
    if vector is not None:
        arrivals = from_vector(vector)
    elif log is not None:
        return _diff_log(log if isinstance(log, Result) else load(log), texts, link, (limit, seed), progress)
    else:
        count, seed = PACKETS if packets is None else packets, SEED if seed is None else seed
        arrivals = random_arrivals(rate or RATE, limit or LIMIT, count, seed)
    if seed is not None:
        arrivals = arrivals.with_seed(seed)
    return _diff(arrivals, texts, limit, progress)


def _diff_module_log(
    log: Path,
    aqms: tuple[Aqm | str | None, Aqm | str | None],
    link: str | None,
    replaced: tuple[str | None, int | None],
    progress: Callable[[float], None] | None,
) -> Difference:
    """Compare on the calls in a kernel module's log; `replaced` as for `_diff_log`."""
    if link is not None:
        raise InputError("link: the log of a kernel module is of one queue; leave it out")
    arrivals, line = from_module_log(log)
    texts = [spelled_aqm(_text(aqm)) for aqm in (line if aqms[0] is None else aqms[0], aqms[1]) if aqm is not None]
    if any(" ack_filter " in text for text in texts):
        raise InputError(
            f"{log}: an ACK filter reads TCP headers, which the log does not have; leave it out of the line"
        )
    limit, seed = replaced
    return _diff(arrivals if seed is None else arrivals.with_seed(seed), texts, limit, progress)


def _diff_log(
    log: Result,
    texts: list[str],
    link: str | None,
    replaced: tuple[str | None, int | None],
    progress: Callable[[float], None] | None,
) -> Difference:
    """Compare on the arrivals at the links of a log; `replaced` are the limit and the seed instead of the recorded."""
    limit, seed = replaced
    runs = [log.at(link)] if link is not None else _links_under(log, texts[0])
    found = {}
    for place, run in enumerate(runs):
        arrivals = from_result(run, _changes_of(run.scenario.document, run.link_number(run.link)))
        if seed is not None:
            arrivals = arrivals.with_seed(seed)
        share = partial(_share, progress, place, len(runs))
        found[run.link] = _diff(arrivals, texts, limit, share)
    [one, *others] = found.values()
    return _summed(one, found) if others else one


def _share(progress: Callable[[float], None] | None, place: int, all_of: int, share: float) -> None:
    if progress is not None:
        progress((place + share) / all_of)


def _links_under(log: Result, text: str) -> list[Result]:
    """Directions of a log with packets whose manager has the name in `text`, else the direction with most bytes."""
    packets = log.table("packets")
    sizes = dict(packets.group_by("link").agg(pl.col("bytes").sum()).iter_rows())
    links = [one for name in log.link_names if (one := log.at(name)).link_number(name) in sizes]
    name = re.split(r"[@\s({]", text)[0]
    return (
        [one for one in links if one.setup.get("aqm", {}).get("name") == name]
        or sorted(links, key=lambda one: -sizes[one.link_number(one.link)])[:1]
        or [log]
    )


def _summed(one: Difference, found: dict[str, Difference]) -> Difference:
    """The comparisons of several directions in one; the first difference is the earliest of all."""
    firsts = [each.first_difference for each in found.values() if each.first_difference is not None]
    sums = {name: sum(getattr(each, name) for each in found.values()) for name in _COUNTS}
    first = min(firsts, key=lambda first: first["at_ns"], default=None)
    source = "; ".join(each.source for each in found.values())
    return replace(one, source=source, first_difference=first, directions=found, **sums)


def _changes_of(document: Mapping[str, Any], number: int) -> list[dict[str, Any]]:
    """Changes of the queue with this number during a run, each with its time `at`."""
    first = 0 if "nodes" in document else 2
    path: tuple[str, ...] = (("link",), ("reverse",))[number] if number < first else ()
    if not path:
        hop = document["links"][(number - first) // 2]["name"]
        path = ("links", hop, "reverse") if number % 2 else ("links", hop)
    return [
        {"at": entry["at"], **keys}
        for entry in document.get("changes", ())
        for where, keys in changed_directions(entry)
        if where == path
    ]


def compare_arrivals(arrivals: Arrivals, aqm: str) -> Difference:
    """Compare a queue manager with the recorded verdicts on its arrivals."""
    return _diff(arrivals, [spelled_aqm(aqm)], None, None)


def _diff(
    arrivals: Arrivals, texts: list[str], limit: str | None, progress: Callable[[float], None] | None
) -> Difference:
    if len(arrivals.columns["time_ns"]) == 0:
        raise InputError("packets: 0 arrivals show no difference; give at least 1")
    instead = None
    if arrivals.line is not None:
        queues = [_core.tc_queue(text, arrivals.line, arrivals.created_ns) for text in texts]
        texts = [queue["aqm"] for queue in queues]
        limits = [queue["limit"] for queue in queues]
        if len(set(limits)) > 1 and limit is None:
            raise InputError(f"{' and '.join(texts)} would have different limits; give one, e.g. 1000 packets")
        setup = {"limit": limits[0]}
        if len(texts) == 1:  # the return value to the sender matters only against a recording
            setup |= {key: queues[0][key] for key in ("told", "drops_on_arrival")}
            instead = queues[0]["instead"]
        arrivals = replace(arrivals, setup={**arrivals.setup, **setup})
    if limit is not None:
        if "changing" in arrivals.setup:
            raise InputError("limit: the recorded link changes, and its changes have limits; leave it out")
        arrivals = arrivals.with_limit(limit)
    b = texts[1] if len(texts) > 1 else None

    def play(arrivals: Arrivals, callback: Callable[[float], None] | None = None) -> dict[str, Any]:
        recorded = arrivals.recorded if b is None else None
        found: dict[str, Any] = json.loads(
            _core.diff(texts[0], b, arrivals.setup, arrivals.columns, recorded, callback)
        )
        return found

    found = play(arrivals, progress)
    shared: tuple[tuple[int, int], ...] = ()
    if b is None and arrivals.buckets_unknown and found["first_difference"]:
        found, shared = shared_buckets(arrivals, found, play)
    if found["first_difference"] and arrivals.flows is not None:
        difference = found["first_difference"]
        difference["arrival"]["flow"] = int(arrivals.flows[difference["index"]])
    bound = arrivals.setup["limit"]
    rate = _core.spelled_rate(arrivals.setup["rate"])
    source = f"{arrivals.source}, {rate}{'' if bound == 'unlimited' else f', limit {bound}'}"
    if not found["first_difference"]:
        instead = None
    return Difference(texts[0], b or arrivals.recorded_aqm, source, **found, instead=instead, shared_buckets=shared)


def shared_buckets(
    arrivals: Arrivals, found: dict[str, Any], play: Callable[[Arrivals], dict[str, Any]]
) -> tuple[dict[str, Any], tuple[tuple[int, int], ...]]:
    """Find flows that the kernel must have hashed to one bucket; returns the updated `found` and the pairs of flows.

    The kernel's hash is reseeded in each run and was not recorded. Of the last flows before the first difference, the
    pair whose merging postpones the first difference most is merged, repeatedly until none is left. If a difference
    remains, it has another cause, and `found` is returned unchanged.
    """
    merged, best = arrivals, found
    pairs: list[tuple[int, int]] = []
    while best["first_difference"] and len(pairs) < MAX_SHARED:
        tried = [(merged.with_shared_bucket(*pair), pair) for pair in combinations(_last_seen(merged, best), 2)]
        played = [(play(one), one, pair) for one, pair in tried]
        if not played:
            return found, ()
        later, one, pair = max(played, key=lambda each: _difference_time(each[0]))
        if _difference_time(later) <= _difference_time(best):
            return found, ()
        merged, best = one, later
        pairs.append(pair)
    return (found, ()) if best["first_difference"] else (best, tuple(pairs))


def _difference_time(found: dict[str, Any]) -> float:
    first = found["first_difference"]
    return inf if first is None else float(first["at_ns"])


def _last_seen(arrivals: Arrivals, found: dict[str, Any]) -> list[int]:
    """Flows, or buckets, of the last packets up to the first difference."""
    is_before = arrivals.columns["time_ns"] <= found["first_difference"]["clock_ns"]
    flows = dict.fromkeys(arrivals.columns["flow"][is_before][::-1].tolist())
    return sorted(list(flows)[:MAX_RECENT])


def _recorded_under(
    aqm: str, scenario: Scenario | Path | str, seed: int | None, progress: Callable[[float], None]
) -> Arrivals:
    parsed = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
    run = parsed.replace({parsed.aqm_path: aqm, "probes.packets": True}).run(seed, progress=progress)
    return from_result(run, _changes_of(run.scenario.document, 0))


def _text(aqm: Aqm | str) -> str:
    return aqm if isinstance(aqm, str) else aqm.text


_COUNTS = ("packets", "agreeing", "same_verdicts", "differing_labels")
"""Fields of a `Difference` that are sums over directions."""
