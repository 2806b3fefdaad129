"""Set-up of a comparison: the parameters of `sojourn.compare` and the options of `sojourn compare`, declared once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError, known_name
from sojourn.base.progress import Progress
from sojourn.base.units import rates, seconds
from sojourn.io.flent.scenario import PROBES, definition_of, flows_of_test
from sojourn.io.flent.tests import TESTS
from sojourn.model.analysis.replicate import Precision
from sojourn.model.analysis.warmup import AUTO
from sojourn.model.ccs.cc import Cc
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.loads import Load, load_scenarios
from sojourn.studies.runs.runner import Run, Runner

RATE, RTT, FLOWS, DURATION, LIMIT = "10 Mbit/s", "40 ms", 4, "60 s", "1000 packets"
ARGUMENTS = {
    "link.aqm": "aqms (--aqm)",
    "link.rate": "rate (--rate)",
    "link.trace": "trace (--trace)",
    "link.limit": "limit (--limit)",
    "link.framing": "framing (--framing)",
    "reverse.rate": "reverse_rate (--reverse-rate)",
    "flows.0.count": "flows (--flows)",
    "flows.0.rtt": "rtt (--rtt)",
    "flows.0.cc": "cc (--cc)",
    "flows.0.stack": "stack (--stack)",
    "flows.0.ecn": "ecn (--ecn)",
    "duration": "duration (--duration)",
    "warmup": "warmup (--warmup)",
    "seed": "seeds (--seeds)",
}
"""Scenario keys that have an argument and an option of their own."""
MAX_PACKETS = 5_000_000
"""Maximum number of packets for a per-packet table: beyond it the table would take gigabytes."""

ControlLike = str | Cc | type[Cc]
"""A congestion control as text, instance or class."""


@dataclass(frozen=True, kw_only=True)
class ComparisonSetup:
    """All parameters except the queue managers; `sojourn.compare` documents them."""

    rate: str | Sequence[str] | None = None
    trace: Path | str | None = None
    rtt: str | Sequence[str] = RTT
    flows: int | Sequence[int] = FLOWS
    duration: str = DURATION
    warmup: str | None = None
    seeds: int | Sequence[int] = 1
    until: Precision | None = None
    cc: ControlLike | Sequence[ControlLike] | None = None
    stack: str | None = None
    limit: str = LIMIT
    ecn: bool = False
    reverse_rate: str | None = None
    framing: str | None = None
    jobs: int | None = None
    out: Path | str | None = None
    packets: bool = True
    command: Sequence[str] = ()
    progress: Progress | bool | None = None
    test: str | None = None
    sets: Mapping[str, object] | None = None
    expect: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Raise `InputError` for keys that have their own argument, and for `flows` if the test's number is fixed."""
        if twice := next((path for path in self.sets or {} if path in ARGUMENTS), None):
            raise InputError(f"{twice}: has its own argument; give {ARGUMENTS[twice]} instead")
        if self.test is None:
            return
        object.__setattr__(self, "test", known_name("Flent's test", self.test, TESTS))
        definition = definition_of(self.test)
        if not definition.takes_flows and self.flows not in (FLOWS, [FLOWS]):
            raise InputError(f"flows: {self.test} has {definition.about}; leave the number of flows out")

    @property
    def shown(self) -> str | None:
        """Link that a test's numbers are about, if not the first one."""
        if self.test is None:
            return None
        definition = definition_of(self.test)
        down, up = (streams.bounds[1] for streams in definition.by_direction.values())
        return "reverse" if not down and (up or definition.voice) else None

    def runner(self) -> Runner:
        """Runner of all runs."""
        folder = Path(self.out) if self.out is not None else None
        return Runner(folder, self.jobs, command=self.command, progress=self.progress)

    @cached_property
    def hosts(self) -> list[str]:
        """Round-trip times to the hosts of a test with several hosts; otherwise empty."""
        if self.test is None or not definition_of(self.test).takes_hosts:
            return []
        return [self.rtt] if isinstance(self.rtt, str) else [*self.rtt]

    def loads(self, aqm: str) -> tuple[list[Scenario], list[dict[str, Any]]]:
        """Scenario of each load with one queue manager, and the varying values of each load by name."""
        rtt = self.hosts[0] if self.hosts else self.rtt
        return load_scenarios(self.rate, rtt, self.flows, self.cc, lambda load: self._scenario(load, aqm))

    def runs(self, bases: Sequence[Scenario], aqms: Sequence[str], seeds: Sequence[int]) -> list[Run]:
        """Runs ordered by load, then queue manager, then seed.

        The first seed records its packets, if `packets` is set and the runs are small enough.
        """
        places = ("link.aqm",) if self.test is None else ("link.aqm", "reverse.aqm")
        drawn = seeds[0] if self.packets and all(_is_small(base) for base in bases) else None
        return [
            Run(
                base.replace({**dict.fromkeys(places, aqm), "probes.packets": seed == drawn, **(self.sets or {})}), seed
            )
            for base in bases
            for aqm in aqms
            for seed in seeds
        ]

    def _scenario(self, load: Load, aqm: str) -> Scenario:
        tcp = _given({"cc": load.cc, "stack": self.stack, "ecn": self.ecn or None})
        link = {"aqm": aqm, "limit": self.limit, "framing": self.framing, **self._service(load.rate)}
        back = {"rate": self.reverse_rate, "limit": None if self.test is None else self.limit}
        document = {
            "duration": self.duration,
            "warmup": AUTO if self.warmup is None else self.warmup,
            "link": _given(link),
            "reverse": _given(back) or None,
            "flows": [{"kind": "tcp", "count": load.flows, "rtt": load.rtt, "spread": "1 s", **tcp}],
        }
        if self.test is not None:
            flows = flows_of_test(self.test, load.flows, self.hosts or [load.rtt], tcp)
            document |= {"flows": flows, "probes": PROBES}
        return Scenario.build({"name": "compare", **_given(document)}).replace(self.sets or {})

    def _service(self, rate: str | None) -> dict[str, str]:
        if rate is not None and self.trace is not None:
            raise InputError("link: has both a rate and a trace; give one of them")
        return {"trace": str(Path(self.trace).resolve())} if self.trace is not None else {"rate": rate or RATE}


def _is_small(scenario: Scenario) -> bool:
    """Whether a run has few enough packets to record each of them."""
    document = scenario.document
    link = document["link"]
    rate = max(rates(link["rate"])) if link.get("rate") else 100e6  # no published trace is faster on average
    return rate * seconds(document["duration"]) / 8 / 1500 <= MAX_PACKETS


def _given(options: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in options.items() if value is not None}
