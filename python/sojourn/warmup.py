"""Automatic warm-up: how long the queue takes to settle, by MSER-5 on its backlog.

The series is the backlog of the forward queue in packets (probe `queue`), at a thousand equal steps of the run, and
averaged step by step over the first few seeds, so that the sawtooth of a single run does not decide. Queue managers
that are compared get the same warm-up: the longest that any of them needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import polars as pl

from sojourn import _core
from sojourn.engines import SIMULATE
from sojourn.errors import InputError
from sojourn.runner import Run, Runner
from sojourn.scenario import Scenario
from sojourn.stats import mser

STEPS = 1000
"""Samples of the backlog in a run: batches of MSER-5 are half a per cent of it."""
PILOTS = 5
"""Most seeds that the backlog is averaged over."""


def warmups(scenarios: Sequence[Scenario], seeds: Sequence[int], runner: Runner, engine: str = SIMULATE) -> list[str]:
    """Warm-up of each scenario, as a scenario file spells it; refused if one does not settle in half of its run.

    It is found from runs of the engine that it is for: another one's TCP fills the queue in another time.
    """
    seeds = seeds[:PILOTS]
    pilots = [Run(_pilot(scenario), seed, engine) for scenario in scenarios for seed in seeds]
    results = runner(pilots)
    found = []
    for index, scenario in enumerate(scenarios):
        mine = results[index * len(seeds) : (index + 1) * len(seeds)]
        head = mser(_mean_backlog([result.table("queue") for result in mine]))
        if head is None:
            raise InputError(
                f"warmup: the backlog under {scenario.aqm} has not settled in the first half of "
                f"{scenario.document['duration']}; give a longer duration, or a warmup"
            )
        found.append(f"{head * _step_ns(scenario)} ns")
    return found


def longest(warmups: Sequence[str]) -> str:
    """The longest of some warm-ups."""
    return max(warmups, key=_core.duration_ns)


def _pilot(scenario: Scenario) -> Scenario:
    off: dict[str, Any] = {f"probes.{probe}": "" for probe in ("flows", "state", "utilisation")}
    queue = {"probes.packets": False, "probes.queue": f"{_step_ns(scenario)} ns", "warmup": "0 s"}
    return scenario.replace(off | queue)


def _step_ns(scenario: Scenario) -> int:
    return max(1, ceil(_core.duration_ns(scenario.document["duration"]) / STEPS))


def _mean_backlog(queues: Sequence[pl.DataFrame]) -> list[float]:
    """Packets waiting at each step, averaged over runs."""
    forward = pl.concat(queue.filter(pl.col("link") == 0).select("time_ns", "packets") for queue in queues)
    return forward.group_by("time_ns", maintain_order=True).mean()["packets"].to_list()
