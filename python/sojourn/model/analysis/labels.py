"""Short names for results that are shown together, made from the keys in which they differ."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.model.aqms.spelling import shown, spelled_aqm, split_outside

if TYPE_CHECKING:
    from sojourn.model.results.result import Result


@dataclass(frozen=True)
class Name:
    """Name of a result among others, in two parts that figures encode differently, such as colour and line style."""

    aqm: str
    """Queue manager; empty if all results have the same one and another key distinguishes them."""
    load: str = ""
    """All other keys in which the result differs."""
    remark: str = field(default="", compare=False)
    """Suffix for the legend, such as "not settled"."""

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.aqm, self.load, self.remark)))


def names_of(results: Sequence[Result]) -> list[Name]:
    """Name each result by the keys in which it differs from the others; by its AQM if in none.

    Runs that differ only in the seed share a name, unless the seed is the only difference of all. A log is named after
    its file.
    """
    of_runs = iter(_names_of_runs([result for result in results if not result.is_log]))
    return [Name(Path(str(result.folder)).name) if result.is_log else next(of_runs) for result in results]


def _names_of_runs(results: Sequence[Result]) -> list[Name]:
    rows = [of_direction(result) | {ENGINE: _engine(result)} for result in results]
    keys = differing(rows)
    if "link" in keys:
        keys += [key for key in ("link.aqm",) if key not in keys]
    elif set(keys) <= {"seed"}:  # the queue manager of the shown link
        rows = [row | {"link.aqm": spelled_aqm(result.setup["aqm"])} for row, result in zip(rows, results, strict=True)]
    return name_rows(rows, keys if keys == ["seed"] else [key for key in keys if key != "seed"])


def name_rows(rows: Sequence[Mapping[str, Any]], keys: Collection[str]) -> list[Name]:
    """Name each row by its values of `keys`; by its AQM if `keys` is empty."""
    loads = [key for key in keys if key != "link.aqm"]
    named = "link.aqm" in keys or not keys
    aqms = shortened([str(row["link.aqm"]) if named else "" for row in rows])
    return [Name(aqm, ", ".join(word(key, row.get(key)) for key in loads)) for aqm, row in zip(aqms, rows, strict=True)]


def shortened(aqms: Sequence[str]) -> list[str]:
    """Shorten queue managers for a title: drop the parts in braces that all managers of the same name share."""
    long = [aqm for aqm in dict.fromkeys(aqms) if "{" in aqm and len(aqm) > MAX_LENGTH]
    shared: dict[str, set[str]] = {}
    for aqm in long:
        words, held = aqm.partition("{")[0], set(_held(aqm))
        shared[words] = shared.get(words, held) & held
    return [_with_own(aqm, shared[aqm.partition("{")[0]]) if aqm in long else aqm for aqm in aqms]


def _with_own(aqm: str, shared: Collection[str]) -> str:
    held = _held(aqm)
    own = [part for part in held if part not in shared]
    parts = [*(["…"] if len(own) < len(held) else []), *own]
    return f"{aqm.partition('{')[0]}{{ {'; '.join(parts)} }}"


def _held(aqm: str) -> list[str]:
    """Parts in a queue manager's braces, split at the outer semicolons."""
    return split_outside(aqm.partition("{")[2].rpartition("}")[0], ";")


def differing(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Keys in which rows differ, without keys of the reverse link that always equal those of the forward link."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    found = [key for key in keys if len({repr(row.get(key)) for row in rows}) > 1]
    forward = {key: f"link.{key.removeprefix('reverse.')}" for key in found if key.startswith("reverse.")}
    follows = {key for key, other in forward.items() if all(row.get(key) == row.get(other) for row in rows)}
    return [key for key in found if key not in follows]


def flatten(result: Result) -> dict[str, Any]:
    """Flatten a run's scenario to dotted paths: AQMs in tc's spelling, `rtt` per flow if delays are constant."""
    document = result.scenario.document
    row: dict[str, Any] = {"link.aqm": result.scenario.aqm}
    row |= {f"link.{key}": value for key, value in document.get("link", {}).items() if key != "aqm"}
    reverse = {key: spelled_aqm(value) if key == "aqm" else value for key, value in document.get("reverse", {}).items()}
    row |= {f"reverse.{key}": value for key, value in reverse.items()}
    for index, hop in enumerate(document.get("links", [])):
        known = ("aqm",) if result.scenario.is_graph and not index else ()  # a graph's first AQM: link.aqm
        known = (*known, "wlan")
        keys = {key: spelled_aqm(value) if key == "aqm" else value for key, value in hop.items() if key not in known}
        row |= {f"links.{index}.{key}": value for key, value in keys.items()} | _flat_wlan(f"links.{index}.wlan", hop)
    row |= _flat_wlan("wlan", document)
    links = result.scenario.links
    routes = result.scenario.routes
    for index, flow in enumerate(document["flows"]):
        keys = dict(flow)
        shared = [links[name]["delay"] for route in routes[index] for name in route]
        if "access_delay" in keys and not any("@" in delay for delay in shared):
            del keys["access_delay"]
            keys["rtt"] = f"{1e3 * result.scenario.base_rtt_s(index):.6g} ms"
        if "cc" in keys:
            keys["cc"] = shown(str(keys["cc"]))
        row |= {f"flows.{index}.{key}": value for key, value in keys.items()}
    return row | {"duration": document["duration"], "warmup": document["warmup"], "seed": result.seed}


def of_direction(result: Result) -> dict[str, Any]:
    """Flatten a result; a shell also gets its shown direction as `link`, and the queue manager of that direction."""
    row = flatten(result)
    return row | {"link": result.link, "link.aqm": spelled_aqm(result.setup["aqm"])} if result.is_shell else row


def _flat_wlan(path: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of the wireless LAN in `keys` by dotted path; empty without one."""
    wlan = keys.get("wlan", {"stations": []})
    row = {f"{path}.{key}": value for key, value in wlan.items() if key != "stations"}
    for index, stations in enumerate(wlan["stations"]):
        row |= {f"{path}.stations.{index}.{key}": value for key, value in stations.items()}
    return row


def _engine(result: Result) -> str:
    """Name of a result's engine, without the digest of its build: `simulate`, `kernel-6.1.192`."""
    return re.sub(r"-[0-9a-f]{12}$", "", result.engine)


def first_of_each(results: Sequence[Result], names: Sequence[Name]) -> dict[Name, Result]:
    """First result of each name, in the order of the names."""
    return {name: own[0] for name, own in all_of_each(results, names).items()}


def all_of_each(results: Sequence[Result], names: Sequence[Name]) -> dict[Name, list[Result]]:
    """All results of each name, in the order of the names."""
    found: dict[Name, list[Result]] = {}
    for result, name in zip(results, names, strict=True):
        found.setdefault(name, []).append(result)
    return found


def word(key: str, value: Any) -> str:
    """Value of a key (a dotted path) as part of a name: "4 flows", "rtt 40 ms"."""
    if key in ("link", ENGINE):  # direction of a shell
        return str(value)
    if key.endswith(".count"):
        noun = "station" if ".stations." in key else "flow"
        return f"1 {noun}" if value == 1 else f"{value} {noun}s"
    return f"{key.removeprefix('link.').removeprefix('flows.0.').removeprefix('wlan.')} {value}"


ENGINE = "engine"
MAX_LENGTH = 60
"""Longest queue manager text, in characters, that a title or legend shows unshortened."""
