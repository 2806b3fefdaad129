"""Random topologies: rings, stars, isolated nodes, unused links, duplicate names, and invalid routes."""

from __future__ import annotations

import random
from typing import Any

from attack.mutate import mutated_bytes, mutated_document, odd_text, toml
from attack.nested import classes
from attack.scenarios import FILES, aqm, flows, link

Drawn = tuple[list[str], dict[str, bytes]]
KINDS = ("host", "router", "stations", "access-point")


def shape(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """Draw links between numbered nodes: a line, a ring, a star, a tree or a mesh."""
    line = [(number, number + 1) for number in range(count - 1)]
    kinds = (
        line,
        [*line, (count - 1, 0)] if count > 2 else line,
        [(0, number) for number in range(1, count)],
        [(rng.randrange(number), number) for number in range(1, count)],
        [(one, other) for other in range(count) for one in range(other) if other == one + 1 or rng.random() < 0.4],
    )
    return rng.choice(kinds)


def graph(rng: random.Random) -> dict[str, Any]:
    """Draw a valid topology: connected, with flows between hosts."""
    count = rng.choice((2, 3, 3, 5, 9))
    names = [rng.choice(("n", "Host ", "é")) + str(number) for number in range(count)]
    found: dict[str, Any] = {"duration": f"{rng.choice((60, 97, 150))} ms", "seed": rng.randrange(10**6)}
    if rng.random() < 0.5:
        found["warmup"] = f"{rng.choice((1, 29, 51))} ms"
    found["nodes"] = [{"name": name} for name in names]
    found["links"] = []
    for number, (one, other) in enumerate(shape(rng, count)):
        entry = link(rng) | {"name": f"l{number}", "from": names[one], "to": names[other]}
        if rng.random() < 0.2:
            entry["reverse"] = {"rate": "3 Mbit/s", "aqm": aqm(rng)}
        found["links"].append(entry)
    found["flows"] = []
    for _ in range(rng.choice((1, 2, 3))):
        source, sink = rng.sample(names, 2)
        group = flows(rng)
        group.pop("direction", None)
        group.pop("rtt", None)
        found["flows"].append(group | {"from": source, "to": sink, "access_delay": "3 ms"})
    found["probes"] = {"packets": True}
    return found


def with_faults(rng: random.Random, found: dict[str, Any]) -> dict[str, Any]:  # noqa: C901 (a branch for each fault)
    """Add faults to a topology; some of them are harmless."""
    names = [node["name"] for node in found["nodes"]]
    for _ in range(rng.choice((1, 1, 2, 3))):
        one = rng.choice(found["links"]) if found["links"] else {}
        group = rng.choice(found["flows"])
        kind = rng.randrange(13)
        if kind == 0:
            found["nodes"].append({"name": rng.choice((rng.choice(names), "lonely", odd_text(rng)))})
        elif kind == 1:
            one["to"] = one.get("from")
        elif kind == 2 and found["links"]:
            found["links"].append(
                dict(one) | rng.choice(({}, {"name": "twin"}, {"from": one["to"], "to": one["from"]}))
            )
        elif kind == 3 and found["links"]:
            found["links"].remove(one)
        elif kind == 4:
            one[rng.choice(("from", "to", "name"))] = rng.choice((*names, "link", "reverse", odd_text(rng)))
        elif kind == 5:
            group["to"] = rng.choice((group["from"], "nowhere", odd_text(rng)))
        elif kind == 6:
            links = [entry.get("name", "") for entry in found["links"]]
            group["route"] = [rng.choice((*links, "none")) for _ in range(rng.randrange(4))]
        elif kind == 7:
            rng.choice(found["nodes"])["kind"] = rng.choice((*KINDS, odd_text(rng)))
        elif kind == 8:
            found["link"] = {"rate": "9 Mbit/s"}
        elif kind == 9:
            one["aqm"] = classes(rng, circles=True)
        elif kind == 10:
            found["nodes"] += [{"name": f"more{number}"} for number in range(rng.choice((3, 300, 2_000)))]
        elif kind == 11:
            one |= {"wlan": {"stations": [{"rate": "54 Mbit/s", "count": rng.choice((1, 3, 9_999))}]}}
        else:
            group["count"] = rng.choice((0, 77, 3_000, 10**6 + 1, 10**12))
    return found


def draw_graph(rng: random.Random, runs: bool) -> Drawn:
    """Draw a command line that runs or sweeps a topology, and its files."""
    words = ["run", "g.toml", "-o", "out", *(["--json"] if rng.random() < 0.2 else [])]
    found = graph(rng)
    if runs:
        return words, FILES | {"g.toml": toml(found)}
    kind = rng.randrange(6)
    if kind == 0:
        return words, FILES | {"g.toml": mutated_bytes(rng, toml(found))}
    if kind == 1:
        return words, FILES | {"g.toml": toml(mutated_document(rng, found))}
    if kind == 2:
        found["sweep"] = {f"links.{rng.choice(('l0', '0', 'l7', 'x'))}.rate": ["1 Mbit/s", "3 Mbit/s"], "seeds": 2}
        words = ["sweep", "g.toml", "-o", "out"]
    return words, FILES | {"g.toml": toml(with_faults(rng, found))}
