"""Stand-in for a tested program: simulates a world with every seed, and writes records as sojourn-net does.

Arguments: the scenario file, then KEY=VALUE to change the tested program, and faults.
"""

from __future__ import annotations

import json
import os
import sys
import time
from hashlib import sha256
from pathlib import Path

from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.runs import store

FAULTS = ("clock", "draw", "order", "short", "fails")


def main() -> None:
    """Run the seeds of SOJOURN_SEEDS."""
    first, _, last = os.environ.get("SOJOURN_SEEDS", "1-2").partition("-")
    if "SOJOURN_SEED" in os.environ:
        sys.exit("SOJOURN_SEED would select a seed")
    base = Scenario.load(sys.argv[1])
    sets = dict(word.split("=") for word in sys.argv[2:] if "=" in word)
    faults = {word for word in sys.argv[2:] if word in FAULTS}
    scenario = base.replace(sets) if sets else base
    print(f"seeds {first} to {last or first}")
    for seed in range(int(first), int(last or first) + 1):
        write(base, scenario, seed, faults)
    if "fails" in faults:
        sys.exit("assertion failed: call")


def write(base: Scenario, scenario: Scenario, seed: int, faults: set[str]) -> None:
    """Write a record and a decision log whose datagrams follow from the run."""
    result = scenario.run(seed)
    number = int(result.fingerprint, 16)
    lines = [line(1000 * step, "call.source", 40 + (number >> step) % 1000) for step in range(50)]
    if "clock" in faults:
        lines[20] = line(20_000 + time.time_ns() % 999, "call.source", 40)
    if "draw" in faults:
        lines[20] = line(20_000, "call.source", 40 + int.from_bytes(os.urandom(2), "big"))
    if "short" in faults and os.environ.get("SOJOURN_PADDING"):
        lines = lines[:20]
    if "order" in faults:
        lines += [line(60_000, f"{end}.source", 100) for end in {f"end{place}" for place in range(40)}]
    bins = result.table("sojourn_histogram")
    about = {"name": "call", "world": store.world_hash(base), "seed": seed, "scenario": base.document}
    record = {
        "format": 1,
        **about,
        "summary": result.totals,
        "histogram": {name: bins[name].to_list() for name in bins.columns},
        "fingerprint": result.fingerprint,
        "decisions": sha256("".join(lines).encode()).hexdigest()[:16],
        "versions": {"sojourn": "0.1.0"},
    }
    out = Path(os.environ["SOJOURN_NET_OUT"])
    text = "".join(["sojourn-decisions 1\n", json.dumps(about), "\n", *lines])
    (out / f"call-{seed}.decisions").write_text(text, encoding="utf-8")
    (out / f"call-{seed}.json").write_text(json.dumps(record), encoding="utf-8")


def line(time_ns: int, end: str, size: int) -> str:
    """A decision."""
    return f"{time_ns} {end} 10.0.0.1:5000 10.0.0.2:5000 {size} - -\n"


if __name__ == "__main__":
    main()
