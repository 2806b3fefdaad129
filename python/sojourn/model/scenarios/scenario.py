"""A scenario: the description of a simulation, parsed and checked by the core."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _core, engines
from sojourn.base.dotted import value_at
from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_toml, read_text
from sojourn.base.notebook import lab_widget, progress_callback
from sojourn.base.units import initial_value, seconds
from sojourn.model.aqms.spelling import KERNEL_FILE, is_reference, references, spelled_aqm, tables
from sojourn.model.scenarios.draw import Draw, seed_of
from sojourn.model.scenarios.paths import paths

if TYPE_CHECKING:
    from sojourn.model.results.result import Result


class Scenario:
    """A scenario that can run.

    It is immutable; `document` is its canonical form, in which every default is explicit.
    """

    def __init__(self, canonical: str) -> None:
        """Wrap canonical JSON from the core; users call `load` or `parse`."""
        self.canonical = canonical

    @classmethod
    def load(cls, path: Path | str, sets: Mapping[str, object] | None = None, *, seed: int | None = None) -> Scenario:
        """Read a TOML file; `sets` overrides keys by dotted path, e.g. ``{"link.rate": "20 Mbit/s"}``.

        Keys in its table `[draw]`, except those in `sets`, are drawn by `seed`, else by the file's seed; the scenario
        then has that seed.
        """
        path = Path(path)
        text = read_text(path)
        try:
            if "draw" in text and (draw := Draw.take(document := parse_toml(text), path.parent)):
                document["seed"] = seed_of(document, sets) if seed is None else seed
                sets = draw.values(document["seed"]) | dict(sets or {})
                text = json.dumps(document, default=str)
            return cls.parse(text, sets, base=path.parent)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @classmethod
    def parse(
        cls, text: str, sets: Mapping[str, object] | None = None, *, base: Path | str = ".", within: bool = False
    ) -> Scenario:
        """Parse TOML or JSON text; paths of traces and of Python files are relative to `base`.

        With `within` the text is untrusted: it may name files below `base` only; others are rejected unread.
        """
        pairs = [(key, spelled(value)) for key, value in (sets or {}).items()]
        return cls(_core.parse_scenario(text, pairs, os.path.realpath(base), within))

    @classmethod
    def build(cls, document: Mapping[str, object], *, base: Path | str = ".") -> Scenario:
        """Create a scenario from a dictionary with the keys of the TOML file."""
        return cls.parse(json.dumps(document, default=spelled), base=base)

    def replace(self, sets: Mapping[str, object]) -> Scenario:
        """Return this scenario with some keys changed."""
        return Scenario.parse(self.canonical, sets)

    def run(
        self,
        seed: int | None = None,
        *,
        progress: Callable[[float], None] | bool | None = None,
        engine: str = "simulate",
    ) -> Result:
        """Run once, simulated or on another engine; `seed` defaults to the scenario's.

        `progress` is called with the completed share, 0 to 1; True shows a progress bar (the default in a notebook),
        False none.
        """
        with progress_callback(progress) as callback:
            return engines.run(self, self.seed if seed is None else seed, engine, callback)

    def lab(self) -> Any:
        """Return a widget for Jupyter and marimo that runs the scenario (extra `lab`)."""
        return lab_widget(self)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The canonical form as a dictionary."""
        found = json.loads(self.canonical)
        assert isinstance(found, dict)
        return found

    @cached_property
    def need(self) -> tuple[int, int]:
        """Maximum memory of a run in bytes, and that of its probes if they are not written to disk during the run."""
        return _core.need(self.canonical)

    @property
    def name(self) -> str:
        """Name of the scenario; empty if it has none."""
        return str(self.document.get("name", ""))

    @property
    def seed(self) -> int:
        """Default seed of a run."""
        return int(self.document["seed"])

    @property
    def aqm(self) -> str:
        """The bottleneck's queue manager in tc's spelling; in a graph that of its first link."""
        return spelled_aqm(self.bottleneck["aqm"])

    @property
    def aqm_path(self) -> str:
        """Path of the bottleneck's queue manager."""
        return "links.0.aqm" if self.is_graph else "link.aqm"

    def at(self, path: str) -> Any:
        """Value at a dotted path of the canonical form; raises `KeyError` if there is none."""
        return value_at(self.document, path)

    def traces(self) -> list[Path]:
        """Files that the scenario reads: traces of links, captures, and distribution tables."""
        return list(self._traces)

    def user_aqms(self) -> list[str]:
        """Names of the queue managers that are written in Python or are in shared libraries."""
        return list(self._user_aqms)

    def user_controls(self) -> list[str]:
        """Names of the congestion controls that are written in Python or are in shared libraries."""
        names = [str(flow.get("cc", "")).partition(" ")[0] for flow in self.document["flows"]]
        return [name for name in dict.fromkeys(names) if is_reference(name)]

    def user_code(self) -> list[str]:
        """Names of all classes, libraries and policies of users, each once."""
        return list(dict.fromkeys([*self._user_aqms, *self.user_controls()]))

    @cached_property
    def kernel_files(self) -> dict[str, str]:
        """Queue managers and congestion controls of files that are compiled into a kernel: `kernel:NAME` by place."""
        aqms = ((place, table["name"]) for place, table in self._all_aqms().items())
        ccs = ((f"flows[{number}].cc", flow.get("cc", "")) for number, flow in enumerate(self.document["flows"]))
        names = ((place, str(name).partition(" ")[0]) for place, name in [*aqms, *ccs])
        return {place: name for place, name in names if name.startswith(KERNEL_FILE)}

    @cached_property
    def _traces(self) -> list[Path]:
        """Cached, like `_user_aqms`, because every run queries it several times."""
        links = [link for hop in self.hops.values() for link in hop]
        captures = [flow["file"] for flow in self.document["flows"] if flow["kind"] == "pcap"]
        named = [file for aqm in self._all_aqms().values() for file in tables(aqm)]
        return [Path(file) for file in [*(link["trace"] for link in links if link.get("trace")), *captures, *named]]

    @cached_property
    def _user_aqms(self) -> list[str]:
        return list(dict.fromkeys(name for aqm in self._all_aqms().values() for name in references(aqm)))

    def _all_aqms(self) -> dict[str, dict[str, Any]]:
        """Queue managers of every link and of every scheduled change, as tables, by place."""
        changed = {
            f"changes[{number}].{'.'.join(where)}.aqm": keys["aqm"]
            for number, entry in enumerate(self.document.get("changes", []))
            for where, keys in changed_directions(entry)
            if "aqm" in keys
        }
        return {**self.aqm_tables, **changed}

    @property
    def hops(self) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
        """The bottlenecks in order: by name, the forward direction and the reverse path."""
        first = {} if self.is_graph else {"link": (self.document["link"], self.document["reverse"])}
        return first | {hop["name"]: (_link(hop), hop["reverse"]) for hop in self.document.get("links", [])}

    @property
    def is_graph(self) -> bool:
        """Whether the links connect named nodes."""
        return "nodes" in self.document

    @cached_property
    def links(self) -> Mapping[str, dict[str, Any]]:
        """Each direction of every bottleneck, under its name in results; a wireless LAN's "reverse" is its stations."""
        names = [(name, f"{name} reverse") for name in self.hops]
        if not self.is_graph:
            names[0] = ("forward", "reverse")
        pairs = zip(names, self.hops.values(), strict=True)
        return {name: link for own, hop in pairs for name, link in zip(own, hop, strict=True)}

    @property
    def bottleneck(self) -> dict[str, Any]:
        """The first link in the direction of the data, which the summary is about."""
        return next(iter(self.hops.values()))[0]

    @cached_property
    def routes(self) -> list[tuple[list[str], list[str]]]:
        """For every flow group: the links that its data cross, and those that its acknowledgments cross.

        Both are empty if `[wlan]` is the bottleneck. In a graph the reverse direction of a wireless LAN is its
        stations' traffic.
        """
        names = list(self.links)
        return [([names[link] for link in data], [names[link] for link in acks]) for data, acks in paths(self.document)]

    def base_rtt_s(self, group: int) -> float:
        """Base round-trip time (propagation) of a flow group in seconds; the first value of a changing delay counts."""
        delays = [initial_value(self.links[name]["delay"]) for route in self.routes[group] for name in route]
        return 2 * seconds(self.document["flows"][group]["access_delay"]) + sum(map(seconds, delays))

    @property
    def links_rtt_s(self) -> float:
        """Base round-trip time (propagation) over all links in seconds; the first value of a changing delay counts."""
        return sum(seconds(initial_value(link["delay"])) for link in self.links.values())

    @property
    def aqm_tables(self) -> dict[str, dict[str, Any]]:
        """The queue manager of every link as a table, by its path: link.aqm, reverse.aqm, links.0.aqm, ...."""
        places = () if self.is_graph else ("link", "reverse")
        found = {f"{place}.aqm": self.document[place]["aqm"] for place in places}
        for index, hop in enumerate(self.document.get("links", [])):
            found[f"links.{index}.aqm"], found[f"links.{index}.reverse.aqm"] = hop["aqm"], hop["reverse"]["aqm"]
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and other.document == self.document

    def __hash__(self) -> int:
        return hash(self._in_order)

    @cached_property
    def _in_order(self) -> str:
        """Canonical text for hashing: equal scenarios give equal texts. Cached, because a study hashes each often."""
        return json.dumps(self.document, sort_keys=True)

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r}: {self.aqm}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(json.dumps(self.document, indent=2, ensure_ascii=False))}</pre>"


def changed_directions(entry: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Link directions that an entry of `[[changes]]` changes: the path of each in the entry, and its keys."""
    for name in ("link", "reverse"):
        if name in entry:
            yield (name,), dict(entry[name])
    for name, hop in entry.get("links", {}).items():
        forward = {key: value for key, value in hop.items() if key != "reverse"}
        if forward:
            yield ("links", name), forward
        if "reverse" in hop:
            yield ("links", name, "reverse"), dict(hop["reverse"])


def _link(hop: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of a hop's forward direction."""
    return {key: value for key, value in hop.items() if key not in ("name", "from", "to", "reverse", "wlan")}


def spelled(value: object) -> str:
    """Text of a value in an override."""
    if isinstance(value, str):
        return value
    value = value() if isinstance(value, type) else value
    return str(value.text) if hasattr(value, "text") else json.dumps(value)
