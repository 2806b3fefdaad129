"""Scenarios and studies: valid and mutated ones."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from attack.mutate import mutated_bytes, mutated_document, mutated_text, odd_text, toml
from sojourn.model.aqms.registry import registry

REPO = Path(__file__).resolve().parents[2]
SHIPPED = {path.name: path.read_bytes() for path in sorted((REPO / "scenarios").glob("*.toml"))}
TRACE = b"".join(b"%d\n" % ms for ms in range(1, 200) if ms % 7)
OWN = b"""import sojourn as sj


class Mine(sj.Aqm):
    def __init__(self, depth=9, target="5 ms", gain=0.5, ecn=False):
        self.depth, self.target = depth, target

    def enqueue(self, cx, meta, queue):
        return "drop" if len(queue) >= self.depth else "accept"

    def observe(self):
        return {"depth": self.depth}
"""
FILES = {"t.down": TRACE, "mine.py": OWN}
"""Files named in scenarios."""
SINGLE = (
    *(
        "droptail",
        "drophead",
        "codel",
        "codel@act",
        "codel@linux target 7ms ecn",
        "codel_dt",
        "cobalt",
        "pie",
        "pie@draft00 ecn",
    ),
    *("pi2", "red", "red@linux ecn", "ared", "choke", "mine.py:Mine", "mine.py:Mine depth 5"),
)
TREES = (
    "tbf rate 5mbit burst 9kB { fq_codel }",
    "prio { band 1 match dscp EF; band 2 { cake }; band 3 { pie ecn } }",
    "htb default 2 { class 1 rate 3mbit ceil 9mbit match dscp EF; class 2 rate 2mbit prio 1 { fq_codel ecn } }",
    "cake bandwidth 5mbit diffserv4 dual-srchost nat docsis ack-filter",
    "cake_mq queues 2 bandwidth 5mbit besteffort",
)
"""Disciplines with their own syntax, or with children in braces."""
REGISTERED = tuple(profile["spelling"] for entry in registry()["aqms"] for profile in entry["profiles"])
"""All disciplines with all profiles."""


def aqm(rng: random.Random) -> str:
    """Draw a queue manager."""
    if rng.random() < 0.25:
        return f"fq({rng.choice(SINGLE)})"
    return rng.choice(SINGLE + REGISTERED + TREES)


def link(rng: random.Random) -> dict[str, Any]:
    """Draw a link of any kind."""
    rate = f"{rng.choice((1, 3, 7.7, 10, 33))} Mbit/s"
    service: dict[str, Any] = rng.choice(
        (
            *({"rate": rate} for _ in range(4)),
            {"rate": f"{rate}@0s,2 Mbit/s@30ms,9 Mbit/s@71ms", "change": rng.choice(("fluid", "latch", "opportunity"))},
            {"bucket": rate, "burst": "20 kB", "peak": "50 Mbit/s"},
            {"poisson": rate},
            {"cox": rate, "sigma": 300},
            {"trace": "t.down"},
        )
    )
    found = service | {"aqm": aqm(rng), "limit": rng.choice(("1000 packets", "5 packets", "20 kB", "50 ms"))}
    extra = {
        "delay": rng.choice(("3 ms", "1 ms@0s,9 ms@50ms")),
        "framing": rng.choice(("docsis", "atm", "pppoe-ptm")),
        "loss": rng.choice((0.01, "2%", {"p": 0.01, "r": 0.3})),
        "below": "3028 B",
        "reorder": True,
    }
    return found | {key: value for key, value in extra.items() if rng.random() < 0.15}


def flows(rng: random.Random) -> dict[str, Any]:
    """Draw a group of flows of any kind."""
    tcp = {"kind": "tcp", "cc": rng.choice(("reno", "newreno", "cubic")), "count": rng.choice((1, 2, 5))}
    tcp["stack"] = rng.choice(("linux-2.6.29", "linux-3.13", "linux-6.1", "ns2"))
    kinds = (
        *(tcp for _ in range(5)),
        {**tcp, "size": "20 kB", "pause": "5 ms"},
        {"kind": "web", "interval": "20 ms", "size": "20 kB"},
        {"kind": "request", "size": "5 kB", "count": 2},
        {"kind": "video", "ladder": ["1 Mbit/s", "9 Mbit/s"], "segment": "50 ms", "buffer": "100 ms", "count": 2},
        {"kind": "rpm", "interval": "100 ms", "most": 3, "unsent": "2 kB"},
        {"kind": "browser", "objects": 9, "size": {"uniform": ["1 B", "9 kB"]}, "document": "2 kB"},
        {"kind": "packmime", "connections_per_second": 50},
        {"kind": "cbr", "rate": "2 Mbit/s", "ecn": "ect0"},
        {"kind": "poisson", "rate": "2 Mbit/s"},
        {"kind": "voice", "off": "0 s"},
        {"kind": "media", "control": "nada", "max_rate": "9 Mbit/s", "start_rate": "2 Mbit/s", "count": 2},
    )
    found = dict(rng.choice(kinds))
    if rng.random() < 0.3:
        found["spread"] = "20 ms"
    if rng.random() < 0.2:
        found["direction"] = "reverse"
    found["rtt"] = rng.choice(("40 ms", "61 ms"))
    if found["kind"] == "tcp" and rng.random() < 0.2:
        found["ecn"] = True
    return found


def scenario(rng: random.Random) -> dict[str, Any]:
    """Draw a valid scenario, which runs in some tens of milliseconds."""
    duration_ms = rng.choice((60, 100, 150))
    found: dict[str, Any] = {"duration": f"{duration_ms} ms", "warmup": f"{rng.choice((0, 20))} ms"}
    found["seed"] = rng.choice((0, 1, 2**63 - 1, rng.randrange(10**6)))
    if rng.random() < 0.5:
        found["name"] = rng.choice(("a", "ä\u2028b", "x" * 200, "\x1b[2J", "$\\frac"))
    found |= {"link": link(rng), "flows": [flows(rng) for _ in range(rng.choice((1, 1, 2)))]}
    if rng.random() < 0.08:
        found["link"] = {"aqm": rng.choice(SINGLE)}
        found["wlan"] = {"stations": [{"rate": "54 Mbit/s", "count": 2}, {"rate": rng.choice(("mcs3", "minstrel"))}]}
    elif rng.random() < 0.1:
        found["links"] = [{"name": rng.choice(("second", "$x_{ $")), "rate": "8 Mbit/s", "aqm": aqm(rng)}]
    probes = {"packets": True, "queue": "10 ms", "flows": "20 ms", "state": "10 ms", "utilisation": "20 ms"}
    probes["transfers"] = True
    found["probes"] = {key: value for key, value in probes.items() if rng.random() < 0.2}
    return found


def draw_scenario(rng: random.Random, runs: bool) -> tuple[list[str], dict[str, bytes]]:
    """Draw a command line that runs a scenario, and its files."""
    words = ["run", "s.toml", "-o", "out", *(["--json"] if rng.random() < 0.2 else [])]
    if runs:
        return words, FILES | {"s.toml": toml(scenario(rng))}
    kind = rng.randrange(5)
    if kind == 0:
        text = mutated_bytes(rng, toml(scenario(rng)))
    elif kind == 1:
        text = mutated_bytes(rng, SHIPPED[rng.choice(sorted(SHIPPED))])
        words += ["--set", "duration=60 ms", "--set", "warmup=0 s"]
    elif kind == 2:
        text = toml(scenario(rng))
        words += [word for _ in range(rng.randrange(1, 3)) for word in ("--set", _set(rng))]
    else:
        text = toml(mutated_document(rng, scenario(rng)))
    if rng.random() < 0.05:
        words += ["--seed", odd_text(rng)]
    return words, FILES | {"s.toml": text}


def draw_study(rng: random.Random, runs: bool) -> tuple[list[str], dict[str, bytes]]:
    """Draw a command line that runs a study, and its files."""
    document = scenario(rng)
    axes: dict[str, Any] = {
        "link.aqm": [rng.choice(SINGLE[:9]) for _ in range(2)],
        "flows.0.rtt": {"from": "40 ms", "to": "80 ms", "step": "20 ms"},
        "link.limit, seed": [["9 packets", 1], ["30 packets", 2]],
    }
    chosen = rng.sample(sorted(axes), rng.choice((1, 1, 2)))
    document["sweep"] = {key: axes[key] for key in chosen} | ({"seeds": rng.choice((1, 2, [3, 1]))})
    if "wlan" in document:
        del document["wlan"]
        document["link"] = {"rate": "10 Mbit/s"}
    words = ["sweep", "s.toml", "-o", "out", *(["--json"] if rng.random() < 0.2 else [])]
    if runs:
        return words, FILES | {"s.toml": toml(document)}
    if rng.random() < 0.5:
        document["sweep"] = mutated_document(rng, document["sweep"])
    else:
        document = mutated_document(rng, document)
    if rng.random() < 0.2:
        document = {"extends": rng.choice(("b.toml", "s.toml", odd_text(rng))), **document}
    text = mutated_bytes(rng, toml(document)) if rng.random() < 0.3 else toml(document)
    if rng.random() < 0.1:
        words += rng.choice(
            (["--shard", odd_text(rng)], ["--until", "5%"], ["--warmup", odd_text(rng)], ["--paired", "pie"])
        )
    return words, FILES | {"s.toml": text, "b.toml": toml(scenario(rng))}


def _set(rng: random.Random) -> str:
    path = rng.choice(
        (
            *(
                "link.rate",
                "link.aqm",
                "link.aqm.target",
                "link.loss",
                "link.mtu",
                "flows.0.count",
                "flows.0.rtt",
                "seed",
            ),
            *("flows.0.kind", "duration", "warmup", "probes.packets", "probes.queue", "reverse.rate", "links", "wlan"),
            *("flows.1.count", "flows.-1", "a.b.c", "link", "flows", ""),
        )
    )
    return f"{path if rng.random() < 0.9 else mutated_text(rng, path)}={odd_text(rng)}"
