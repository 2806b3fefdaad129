"""Scenarios and studies with random keys: valid and mutated `[draw]` tables."""

from __future__ import annotations

import random
from typing import Any

from attack.mutate import mutated_bytes, mutated_document, odd_text, odd_value, toml
from attack.scenarios import FILES, SINGLE, scenario

DATES = ("2024-02-29", "07:32:00", "1979-05-27T00:32:00-07:00", "0001-01-01")
"""TOML values without an equivalent in JSON."""


def distribution(rng: random.Random, *, deep: bool = True) -> tuple[str, dict[str, Any]]:
    """Draw a path and a distribution for it."""
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("link.rate", {"log_uniform": ["900 kbit/s", "33 Mbit/s"]}),
        ("link.delay", {"uniform": ["0.3 ms", "17 ms"]}),
        ("link.aqm", {"choice": list(rng.sample(SINGLE[:9], 3))}),
        ("link.limit", {"uniform": ["5 packets", "900 packets"]}),
        ("flows.0.rtt", {"uniform": ["11 ms", "90 ms"]}),
        ("flows.0.rtt, reverse.delay", {"choice": ["3 ms", "7 ms"]}),
        ("seed", {"uniform": [1, 2**40]}),
        ("link.trace", {"trace": "*.down"}),
    ]
    if deep:
        drawn = {name: distribution(rng, deep=False)[1] for name in ("one", "two")}
        rates = {"one": {"uniform": ["2 Mbit/s", "4 Mbit/s"]}, "two": {"choice": ["1 Mbit/s", "9 Mbit/s"]}}
        kinds += [
            ("link.rate", {"write": "{one}@0s,{two}@31ms", **rates}),
            ("name", {"write": "{one} and {two}", **drawn}),
            ("link.*", {"choice": [{"rate": "3 Mbit/s"}, {"bucket": "3 Mbit/s", "burst": "9 kB"}]}),
        ]
    return rng.choice(kinds)


def draw_with_table(rng: random.Random, runs: bool) -> tuple[list[str], dict[str, bytes]]:
    """Draw a command line that runs, draws from or sweeps a scenario with a `[draw]` table, and its files."""
    document = scenario(rng)
    document.pop("wlan", None)
    document.setdefault("link", {}).pop("trace", None)
    if not {"rate", "bucket", "poisson", "cox"} & document["link"].keys():
        document["link"]["rate"] = "10 Mbit/s"
    table = dict(distribution(rng) for _ in range(rng.choice((1, 2, 4))))
    words = rng.choice(
        (
            ["run", "d.toml", "-o", "out", "--seed", str(rng.randrange(99))],
            ["scenario", "draw", "d.toml", "--seed", str(rng.randrange(99))],
            ["sweep", "d.toml", "-o", "out"],
        )
    )
    if words[0] == "sweep":
        document["sweep"] = {"seeds": 2}
    if runs:
        safe = {path: found for path, found in table.items() if path not in ("link.trace", "link.*", "seed")}
        if "@" in str(document["link"].get("rate")):
            safe.pop("link.rate", None)
        safe = {path: found for path, found in safe.items() if path != "link.rate" or "rate" in document["link"]}
        safe.setdefault("flows.0.rtt", {"uniform": ["11 ms", "90 ms"]})
        safe.pop("flows.0.rtt, reverse.delay", None)
        if words[0] == "sweep":
            safe = {path: found for path, found in safe.items() if path != "name"}
        return words, FILES | {"d.toml": toml(document | {"draw": safe})}
    kind = rng.randrange(4)
    if kind == 0:
        text = toml(document | {"draw": mutated_document(rng, table)})
    elif kind == 1:
        text = mutated_bytes(rng, toml(document | {"draw": table}))
    elif kind == 2:
        table[rng.choice((*table, odd_text(rng)))] = {rng.choice(("uniform", "choice", odd_text(rng))): odd_value(rng)}
        text = toml(document | {"draw": table})
    else:
        text = toml(document | {"draw": table}) + _dated(rng)
    return words, FILES | {"d.toml": text}


def _dated(rng: random.Random) -> bytes:
    """Draw lines, to append to a document, with values that only TOML has."""
    date = rng.choice(DATES)
    lines = rng.choice(
        (
            f'"link.mtu" = {{ choice = [{date}, "1500 B"] }}',
            f'"link.mtu" = {{ uniform = ["1 B", {date}] }}',
            f'"link.mtu" = {date}',
            f'"link.mtu" = {{ choice = [{{ a = {date} }}] }}',
            f'"link.mtu" = {{ choice = [{"9" * rng.choice((19, 21, 400))}] }}',
            f'"link.mtu" = {{ choice = {"[" * rng.choice((3, 70))}{"]" * 70} }}',
        )
    )
    return f"\n[draw.more]\n{lines}\n[more]\nwhen = {date}\n".encode()
