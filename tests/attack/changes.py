"""Scenarios with changes during the run: `[[changes]]` of every key, netem that duplicates and reorders, and steps."""

from __future__ import annotations

import random
from typing import Any

from attack.mutate import mutated_bytes, mutated_document, mutated_text, odd_text, odd_value, toml
from attack.nested import nested
from attack.scenarios import FILES, aqm, scenario

Drawn = tuple[list[str], dict[str, bytes]]
NETEMS = (
    "netem delay 7ms 5ms reorder 25% 50%",
    "netem duplicate 30%",
    "netem delay 11ms 11ms duplicate 13% corrupt 5%",
    "netem slot 3ms 9ms packets 3",
    "netem delay 400ms",
    "netem rate 700kbit loss gemodel 3% 40%",
    "netem delay 5ms 3ms distribution normal limit 9 { prio { band 2 { pie } } }",
)


def instants(rng: random.Random, count: int) -> list[str]:
    """Draw ascending times, some after the end of the run."""
    choices = (1, 999, *(rng.randrange(1, 10**8) for _ in range(count)), 10**10)
    times = sorted(rng.sample(choices, min(count, len(choices))))
    return [f"{time} ns" for time in times]


def steps(rng: random.Random, values: tuple[str, ...]) -> str:
    """Draw a value that changes in steps."""
    times = sorted({0, *(rng.randrange(1, 10**8) for _ in range(rng.choice((1, 2, 7, 40))))})
    return ",".join(f"{rng.choice(values)}@{time} ns" for time in times)


def value(rng: random.Random) -> dict[str, Any]:
    """Draw the keys that one change sets for a direction."""
    manager = rng.choice((aqm(rng), rng.choice(NETEMS), nested(rng, rng.randrange(1, 4))))
    return rng.choice(
        (
            {"aqm": manager},
            {"aqm": manager, "limit": rng.choice(("1 packets", "3 kB", "900 packets"))},
            {"limit": rng.choice(("1 packets", "1600 B", "7 ms", "90 packets"))},
            {"rate": rng.choice(("90 kbit/s", "1 Mbit/s", "77 Mbit/s"))},
            {"delay": rng.choice(("0 s", "3 ms", "333 ms"))},
            {"loss": rng.choice((0, 0.3, "7%"))},
        )
    )


def changing_scenario(rng: random.Random) -> dict[str, Any]:
    """Draw a scenario with changes of its only link."""
    found = scenario(rng)
    found.pop("wlan", None)
    found.pop("links", None)
    link = {"rate": "7 Mbit/s", "aqm": rng.choice((aqm(rng), rng.choice(NETEMS))), "limit": "50 packets"}
    if rng.random() < 0.4:
        link["rate"] = steps(rng, ("90 kbit/s", "1 Mbit/s", "77 Mbit/s")) + ",5 Mbit/s@150 ms"
    if rng.random() < 0.4:
        link |= {"delay": steps(rng, ("0 s", "1 ms", "33 ms")), "reorder": rng.random() < 0.5}
    found["link"] = link
    sides = ("link", "reverse")
    at = instants(rng, rng.choice((1, 2, 3, 9)))
    found["changes"] = [{"at": time, rng.choice(sides): value(rng)} for time in at]
    found["probes"] |= {"packets": True}
    return found


def draw_changes(rng: random.Random, runs: bool) -> Drawn:
    """Draw a command line that runs a scenario with changes, and its files."""
    words = ["run", "c.toml", "-o", "out", *(["--json"] if rng.random() < 0.2 else [])]
    found = changing_scenario(rng)
    if runs:
        found["flows"] = [{"kind": "tcp", "cc": "cubic", "count": 3}]
        for change in found["changes"]:
            if "@" in found["link"]["rate"]:
                change.get("link", {}).pop("rate", None)
            if "delay" in found["link"]:
                change.get("link", {}).pop("delay", None)
            for side in ("link", "reverse"):
                if change.get(side) == {}:
                    change[side] = {"limit": "33 packets"}
        return words, FILES | {"c.toml": toml(found)}
    kind = rng.randrange(5)
    if kind == 0:
        return words, FILES | {"c.toml": mutated_bytes(rng, toml(found))}
    if kind == 1:
        found["changes"] = mutated_document(rng, found["changes"])
    elif kind == 2:
        change = rng.choice(found["changes"])
        change[rng.choice(("at", "link", "reverse", "links", odd_text(rng)))] = odd_value(rng)
    elif kind == 3:
        found["link"]["rate"] = mutated_text(rng, steps(rng, ("1 Mbit/s", "0 bit/s", "9 Mbit/s")))
    return words, FILES | {"c.toml": toml(found)}
