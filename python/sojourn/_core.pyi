"""The compiled core: scenarios, simulations and single queues."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "UPTIME_NS",
    "Algorithm",
    "AqmError",
    "CcEpisodes",
    "Cx",
    "Episodes",
    "Fifo",
    "InputError",
    "Limits",
    "Link",
    "Meta",
    "Output",
    "PacketEpisodes",
    "PolicyNetwork",
    "Queue",
    "bulk_groups",
    "check_aqm",
    "csv_of_trace",
    "diff",
    "doctor",
    "dscp",
    "duration_ns",
    "emulate",
    "emulated",
    "emulated_flow",
    "emulated_head",
    "end_summaries",
    "gym_cc_names",
    "gym_names",
    "jain",
    "load_trace",
    "lte_presets",
    "made_up_arrivals",
    "mser",
    "need",
    "parse_aqm",
    "parse_scenario",
    "paths",
    "payload_summary",
    "plan",
    "quantiles_ms",
    "read_capture",
    "registry",
    "scenario_schema",
    "simulate",
    "size_bytes",
    "spelled_rate",
    "starts",
    "state_of_queue",
    "summarise",
    "synth_lte",
    "tc_queue",
    "trace_of_csv",
    "trace_stats",
    "version",
    "whole",
]

UPTIME_NS: int
"""How long a link's machine had been up when a run begins, in ns."""

class InputError(ValueError):
    """Wrong input; the text names the place and the remedy."""

class AqmError(RuntimeError):
    """A queue manager of a user failed.

    One in Python raised: the text names class, method, time and line, the cause is the exception. One in a shared
    library broke a rule: the text names library, function, rule and time.
    """

def version() -> str:
    """Version of the core."""

def parse_scenario(text: str, sets: list[tuple[str, str]], base: str, within: bool = False) -> str:
    """Canonical JSON of a scenario in TOML or JSON, every default written out.

    `sets` are overrides by dotted path, e.g. ("link.rate", "20 Mbit/s"); an empty value removes the key. Relative
    paths of traces and of queue managers in Python start from the folder `base`; with `within` no file outside of it
    is read.
    """

def scenario_schema() -> str:
    """JSON Schema (draft 2020-12) of scenario files."""

def registry() -> str:
    """Everything registered, as JSON.

    Queue managers with parameters and profiles (`aqms`), TCP stacks (`stacks`), congestion controls (`ccs`) and kinds
    of traffic (`traffic`).
    """

def parse_aqm(text: str, base: str = ".", read: bool = True) -> str:
    """JSON of a queue manager given as a text ("codel@act target 5ms") or as a JSON table.

    It has name, profile, shortest spelling (`text`), every parameter (`params`), and the `algorithm` as in the
    registry. Relative paths of queue managers in Python and of tables of distributions start from the folder `base`;
    without `read` tables are not read, and need not be there.
    """

def check_aqm(aqm: str, operations: int, seed: int, progress: Callable[[float], object] | None = None) -> str:
    """Runs random operations on a queue manager, `operations` of them or until it breaks a rule; JSON.

    `cases`, `operations` and packets that `arrived`, `departed` and were `dropped` or `marked`; `violation` is None or
    `rule`, `step`, `detail` and `case`. A library that breaks the interface raises AqmError. The other arguments are
    those of `simulate`; relative paths start from the current folder.
    """

def diff(
    a: str,
    b: str | None,
    setup: Mapping[str, object],
    arrivals: Mapping[str, npt.NDArray[Any]],
    recorded: Mapping[str, npt.NDArray[Any]] | None = None,
    progress: Callable[[float], object] | None = None,
) -> str:
    """Play arrivals through the discipline `a` and compare with `b` or with what was recorded; JSON.

    `setup`: `rate`, `overhead`, `mtu`, `limit`, `seed`, `link` (its number), `kernel` (whose wire and random stream),
    `told` (of which drops on arrival the sender is told: early ones, those of a full queue, those of a packet that was
    queued first), `drops_on_arrival` (whether what was recorded dropped only arriving packets), `origin_ns`.
    `arrivals`: `time_ns` (uint64), `bytes`, `flow`, `from_host`, `to_host` (uint32), `ecn` (uint8), in the order of
    time. `recorded`: `fate` (uint8) and `fate_ns` (uint64); the codes are those of a log, then 6 dropped and told, 7
    dropped and not told, 8 waiting at that time, 9 dropped at that time and not known why, 10 not to be compared.
    `progress` as for `simulate`.
    """

def made_up_arrivals(seed: int, packets: int, rate: str) -> dict[str, npt.NDArray[Any]]:
    """Synthetic arrivals that bring out differences, as columns: `packets` of eight flows for a link of `rate`."""

def tc_queue(aqm: str, line: str, created_ns: int | None) -> dict[str, Any]:
    """What a recorded queue in tc's words says about comparing `aqm` with it.

    `aqm`: its spelling with the parameters of `line` where it gives none itself; `limit` of its queue; `told` and
    `drops_on_arrival` as `diff` takes them; `instead`: the name of the same discipline as Linux has it, if `aqm` is
    another variant, else None.
    """

def spelled_rate(text: str) -> str:
    """A rate as a person would write it: "9.600000000000001 Mbit/s" is "9.6 Mbit/s"."""

def paths(scenario_json: str) -> list[tuple[list[int], list[int]]]:
    """Numbers of the links that data and acknowledgments of each flow group cross, in order; none in a wireless LAN.

    Link 2i is the forward direction of bottleneck i, 2i + 1 its reverse direction.
    """

def plan(scenario_json: str, seed: int) -> list[dict[str, Any]]:
    """Every source of a scenario: `group`, `start_ns`, `stop_ns` (None for never), and `times_ns`.

    The times are when it sends each datagram or asks for each connection, as far as that waits for nothing.
    """

def state_of_queue(seed: int, link: int) -> int:
    """State of the random stream (splitmix64) that a link's queue draws from in a run, before its first draw.

    Link 2i is the forward direction of bottleneck i, 2i + 1 its reverse direction.
    """

def summarise(
    scenario_json: str, seed: int, limits: Sequence[tuple[str, bool]], entries: Mapping[str, npt.NDArray[Any]]
) -> Output:
    """What a recording of another engine says of a scenario's links.

    For each link: its limit, and whether its discipline drops arrivals before that. Of each entry: `time_ns`, `what`
    (0 arrives, 1 is sent, 2 dropped later, 3 dropped because of an arrival, 4 with its queue), `link`, `packet` (from
    0, in the order of arrival), `flow`, `bytes`, `segments` (1, or those of a super-packet), `ecn`, `from_host`,
    `to_host`. The summary has `warmup_s`, `links`, `hops` and `fingerprint`, and `settled` and `not_settled` where the
    warm-up was to be found; of `windows`, what the ends know is not a number.
    """

def quantiles_ms(times_ns: npt.NDArray[np.uint64]) -> str:
    """Mean, quantiles and maximum of times, in ms; JSON."""

def starts(scenario_json: str) -> npt.NDArray[np.uint64]:
    """Times at which the statistics of a run can begin, in ns, the start of the run first."""

def mser(series: Sequence[float], batch: int) -> int | None:
    """Values at the head of `series` that belong to its transient, after MSER with batches of `batch` values.

    None if it has not settled.
    """

def end_summaries(scenario_json: str, counts: str, starts_ns: Sequence[int], end_ns: int) -> str:
    """Return the part of a summary that only the ends know, from each of `starts_ns` to `end_ns`; JSON.

    `counts` is JSON with the fields of `EndCounts` in the crate sojourn-sim.
    """

def payload_summary(arrived: int, delivered: int, seconds: float) -> str:
    """`goodput_bps`, `bytes`, `delivered_bps` and `delivered_bytes` of a window; JSON.

    `arrived` are bytes that arrived for the first time, `delivered` those delivered in order.
    """

def bulk_groups(scenario_json: str) -> list[bool]:
    """Whether each flow group of a canonical scenario has bulk flows.

    These always have data to send until the run is over, at no rate of their own.
    """

def whole(groups: Sequence[Mapping[str, Any]], lasting: Sequence[tuple[int, float]]) -> str:
    """`goodput_bps`, `delivered_bps` and `jain` of a whole run, and `jain_of_groups`; JSON.

    `groups` are all flow groups in order (`is_bulk`, `forward`, `goodput_bps`, `delivered_bps`), `lasting` has the
    group and the goodput of each flow that lasts.
    """

def jain(rates: Sequence[float]) -> float:
    """Jain's fairness index of rates; 1 for an empty list or if all are zero."""

def duration_ns(text: str) -> int:
    """Nanoseconds of a duration with its unit ("5 ms")."""

def size_bytes(text: str) -> int:
    """Bytes of a size with its unit ("1500 B")."""

def read_capture(
    data: bytes,
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, npt.NDArray[np.uint32]], list[str], list[str]]:
    """TCP segments and UDP datagrams of a pcap or pcapng file, blocks of SACK, addresses, what was left out."""

def load_trace(path: str) -> npt.NDArray[np.uint32]:
    """Opportunities of the trace file at `path`, in milliseconds."""

def trace_stats(opportunities_ms: npt.NDArray[np.uint32], mtu: int) -> str:
    """JSON of a trace's statistics if an opportunity carries `mtu` bytes."""

def lte_presets() -> str:
    """Presets of the LTE-like model, as JSON: name, the recording that it is fitted to, and its mean rate."""

def synth_lte(preset: str, seconds: int, seed: int) -> npt.NDArray[np.uint32]:
    """Opportunities of `seconds` s of an LTE-like link, in milliseconds; the same seed, the same everywhere."""

def trace_of_csv(csv: str, mtu: int, bursts: str | None = None, seed: int = 1) -> npt.NDArray[np.uint32]:
    """Opportunities of `mtu` bytes that the CSV text of a rate series adds up to, in milliseconds.

    They are evenly spread within a step, or in the bursts of an LTE-like preset.
    """

def csv_of_trace(opportunities_ms: npt.NDArray[np.uint32], step_ms: int, mtu: int) -> str:
    """Rates of a trace in steps of `step_ms`, as CSV."""

def doctor(progress: Callable[[float, int, int], object] | None = None) -> str: ...
def emulate(words: list[str]) -> tuple[int, str | None]: ...
def emulated(logs: list[str], scenario_json: str) -> tuple[Output, str, dict[int, list[dict[int, int]]]]:
    """Summary and tables from the logs of both directions of every link of a scenario, of each its forward one first.

    Then, as JSON by the name of the queue, how far each agrees with a replay through the simulator's queue and how many
    packets were late or refused; and the payload in bytes that left for the first time from each instant on, in ns, at
    which the statistics can begin, by queue and flow. The scenario gives names of links, warm-up, length and probes.
    """

def dscp(text: str) -> int:
    """Code point of a name, such as EF, or of a number as a text."""

def emulated_flow(source: bytes, destination: bytes, source_port: int, port: int) -> int:
    """Number of a TCP flow in the logs of an emulated link: addresses as 4 or 16 bytes, ports of both ends."""

def emulated_head(path: str) -> str:
    """Header of a log of an emulated path and the time of its last record in ns, as JSON."""

def need(scenario_json: str) -> tuple[int, int]:
    """Bytes of memory that a run takes at most: for lasting flows and packets under way, and for recorded rows.

    The second is what all probes take unless their rows are written while the run goes on.
    """

def simulate(
    scenario_json: str,
    seed: int,
    progress: Callable[[float], object] | None = None,
    folder: Path | None = None,
    grows: Callable[[int, str], object] | None = None,
) -> Output:
    """Simulate a scenario (TOML or JSON text with absolute paths) once.

    The interpreter is free meanwhile, unless a queue manager is in Python; about every 50 ms signals are handled and
    `progress` is called with the share done, from 0 to 1. What either raises ends the run, and so does an exception in
    a queue manager. With a `folder` the tables are written there as Parquet while the run goes on, so that it takes no
    memory for them; what cannot be written is an `OSError`. Before large queues are made and before a large list of the
    run grows, `grows` is called with the bytes that they will take and what it is; what that raises ends the run.
    """

@final
class Output:
    """Result of a run."""

    @property
    def summary(self) -> str:
        """Summary as JSON."""

    @property
    def written(self) -> dict[str, int]:
        """Number of rows of each table that is in a file and not in `tables`, by name."""

    def tables(self) -> dict[str, dict[str, npt.NDArray[np.generic]]]:
        """Tables by name, each a dictionary of columns; the arrays are the same in every call."""

@final
class Episodes:
    """Places for episodes of scenarios with a queue under a policy.

    `step` as a time with its unit; `action`, `observe` and `reward` by name (an empty reward: somebody else judges),
    `start` in tc's spelling or empty, which rules to the end if `native`.
    """

    observations: npt.NDArray[np.float32]
    """Of each the observation; written in place."""
    rewards: npt.NDArray[np.float64]
    """Of each what its last step was worth; written in place by `step`."""
    over: npt.NDArray[np.bool_]
    """Of each whether its last step was the episode's last; written in place by `step`."""

    def __new__(
        cls,
        step: str,
        action: str,
        observe: list[str],
        stack: int,
        reward: str,
        start: str,
        native: bool,
        count: int,
        threads: int,
    ) -> Episodes: ...
    def set(self, place: int, scenario_json: str, sets: list[tuple[str, str]] = ..., base: str = "/") -> None:
        """Let the next episodes in a place be of a scenario: JSON text after the overrides `sets`.

        Its relative paths start from `base`.
        """

    def reset(self, places: list[int], seeds: list[int]) -> None:
        """Begin episodes with these seeds in these places, and write their first observations.

        Signals are handled meanwhile.
        """

    def step_one(self, action: float) -> tuple[float, bool]:
        """Step the episode in the first place: what the step was worth, and whether it is the last one."""

    def step(self, actions: npt.NDArray[np.float64], going: npt.NDArray[np.bool_]) -> None:
        """Step every episode that is going, by its action."""

    def time_s(self, place: int) -> float:
        """End of the last step in a slot, in seconds."""

    def raw(self, place: int) -> dict[str, Any]:
        """Counters of the last step in a slot, by name; times in seconds.

        `flows` has a row per flow that lasts for the whole run: payload bytes delivered in order, packets sent,
        retransmissions since the start, and the current congestion window in segments and smoothed round-trip time in
        milliseconds.
        """

    def finish(self, place: int) -> str | None:
        """End the episode in a place: its summary as JSON, or None where there is none.

        What is left of the scenario runs under what is in force.
        """

@final
class CcEpisodes:
    """A place for episodes in which each flow of a group has an agent, `most` of them at most.

    `step` as a time with its unit or "rtt", `delay` as a time; `action`, `observe` and `reward` by name (an empty
    reward: somebody else judges); with `native` that control runs instead of agents.
    """

    observations: npt.NDArray[np.float32]
    """Of each agent the observation; written in place."""
    rewards: npt.NDArray[np.float64]
    """Of each what its last step was worth; written in place by `step`."""
    due: npt.NDArray[np.bool_]
    """Of each whether its step has ended now; written in place."""
    over: npt.NDArray[np.bool_]
    """Of each whether its application has stopped, or the scenario has ended; written in place."""

    def __new__(
        cls,
        step: str,
        delay: str,
        action: str,
        gain: float,
        keeps: bool,
        observe: list[str],
        stack: int,
        reward: str,
        group: int,
        most: int,
        native: str,
    ) -> CcEpisodes: ...
    def set(self, scenario_json: str, sets: list[tuple[str, str]] = ..., base: str = "/") -> int:
        """Let the next episodes be of a scenario, as that of `Episodes`; how many agents there are."""

    def reset(self, seed: int) -> None:
        """Begin an episode and go on until a connection is open. Signals are handled meanwhile."""

    def step(self, actions: npt.NDArray[np.float64]) -> None:
        """Put the actions of those agents in force whose step begins, and run until the next step of one ends."""

    def time_s(self) -> float:
        """End of the last step, in seconds."""

    def raw(self, agent: int) -> dict[str, Any]:
        """Counters of an agent's last step, by name; times in seconds, rates in payload bits per second."""

    def finish(self) -> str | None:
        """End the episode: its summary as JSON, or None where there is none.

        What is left of the scenario runs under what is in force.
        """

@final
class PacketEpisodes:
    """A place for episodes in which each packet that arrives at the bottleneck is judged.

    `observe` by name, of the last `stack` packets; three numbers of the packet itself follow.
    """

    observation: npt.NDArray[np.float32]
    """Written in place."""

    def __new__(cls, observe: list[str], stack: int) -> PacketEpisodes: ...
    def set(self, scenario_json: str, sets: list[tuple[str, str]] = ..., base: str = "/") -> None:
        """Let the next episodes be of a scenario, as that of `Episodes`."""

    def reset(self, seed: int) -> bool:
        """Begin an episode and go on to the first packet that arrives; whether there is one."""

    def step(self, action: float) -> tuple[float, bool]:
        """Judge the packet that has arrived (0 lets it in, 1 marks, 2 drops) and go on to the next one.

        What it was worth, and whether it was the last one.
        """

    def time_s(self) -> float:
        """Arrival time of the packet, or the end, in seconds."""

    def finish(self) -> str | None:
        """End the episode: its summary as JSON, or None where there is none."""

@final
class PolicyNetwork:
    """A policy from a file: its action for an observation is that of the queue manager of the same name."""

    def __new__(cls, text: str) -> PolicyNetwork: ...
    def forward(self, observation: npt.NDArray[np.float32]) -> list[float]:
        """Output of the last layer for an observation of as many numbers as it takes."""

def gym_cc_names() -> dict[str, Any]:
    """What environments of connections have by name, in the form of `gym_names`."""

def gym_names() -> dict[str, Any]:
    """What an environment has by name.

    `actions` with their range and whether they are choices, `observations` with their meaning, those that are the
    `default`, and `rewards`.
    """

@final
class Queue:
    """A queue under a queue manager; the caller owns the clock.

    `aqm` in tc's syntax, `limit` like "1000 packets", `rate` of the link below like "10 Mbit/s", `mtu` in bytes. Times
    are integer nanoseconds and never go back. `ecn` is the field of the IP header: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    """

    def __new__(
        cls, aqm: str, limit: str = "1000 packets", rate: str = "10 Mbit/s", mtu: int = 1500, seed: int = 1
    ) -> Queue: ...
    def push(
        self,
        now_ns: int,
        size: int,
        flow: int = 0,
        ecn: int = 0,
        tag: Any = None,
        dscp: int = 0,
        hosts: tuple[int, int] = (0, 0),
        class_: str = "",
    ) -> str:
        """Offer a packet of `size` bytes at `now_ns`: "queued", "marked", or "dropped:" and the reason.

        `flow` is the number of its flow, `hosts` those of its sending and its receiving host, `class_` the class or the
        priority that it names, and `tag` comes back when it leaves.
        """

    def pop(self, now_ns: int) -> tuple[Any, int, bool] | None:
        """Take the next packet at `now_ns`: its tag, its sojourn in nanoseconds, and whether it carries a mark.

        None when there is none. The manager may drop packets on the way.
        """

    def not_before(self) -> int | None:
        """When the packets that wait may go at the earliest, if the last pop found that they may not yet."""

    def statistics(self) -> str | None:
        """Statistics as `tc -s -j qdisc` prints them, as JSON; None for a discipline that tc does not have."""

    def dropped(self) -> list[tuple[Any, str]]:
        """Tags and reasons of the packets dropped since the last call."""

    def backlog(self) -> tuple[int, int]:
        """Packets and bytes queued."""

    def state(self) -> dict[str, float]:
        """State variables of the queue manager by name; times in seconds."""

@final
class Algorithm:
    """A class as an algorithm. What it holds lives as long as the program; there is one per class.

    `params` are name and default of each parameter of `__init__`, and the words of a choice: a default's type, or the
    unit in its text, says what the parameter is.
    """

    def __new__(
        cls,
        name: str,
        summary: str,
        params: Sequence[tuple[str, Any, list[str]]],
        make: Callable[[dict[str, Any]], object],
        methods: list[str],
        judges_overflow: bool,
    ) -> Algorithm: ...
    def configure(self, params: list[tuple[str, str]]) -> tuple[str, dict[str, Any]]:
        """Shortest spelling with `params` set by name, and what an instance gets: ns, bytes, bit/s."""

@final
class Meta:
    """Metadata of a packet at the time of the query."""

    @property
    def enqueued(self) -> int:
        """Time at which the queue accepted it, in ns."""
    @property
    def len(self) -> int:
        """Size in bytes, as the queue accounts it."""
    @property
    def flow(self) -> int:
        """Number of the transport flow."""
    @property
    def hosts(self) -> tuple[int, int]:
        """Numbers of the sending and the receiving host."""
    @property
    def dscp(self) -> int:
        """Differentiated services code point."""
    @property
    def ecn(self) -> int:
        """ECN field: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE."""
    @property
    def is_ect(self) -> bool:
        """Whether the packet is ECN-capable: not Not-ECT."""

@final
class Limits:
    """Queue limit; None is unlimited."""

    @property
    def packets(self) -> int | None:
        """Maximum queued packets."""
    @property
    def bytes(self) -> int | None:
        """Maximum queued bytes."""
    @property
    def time(self) -> int | None:
        """Maximum queueing time in ns, at the link's nominal rate."""

@final
class Link:
    """The link below the queue."""

    @property
    def rate(self) -> int:
        """Nominal rate in bit/s."""
    @property
    def mtu(self) -> int:
        """Largest packet in bytes."""

@final
class Cx:
    """What the host lends for one call: the time, the queue's random stream, the backlog when the call began."""

    @property
    def now(self) -> int:
        """The time in ns."""
    @property
    def packets(self) -> int:
        """Packets in this queue when the call began."""
    @property
    def bytes(self) -> int:
        """Bytes in this queue when the call began."""
    @property
    def total_packets(self) -> int:
        """Packets in all queues of the discipline when the call began."""
    @property
    def total_bytes(self) -> int:
        """Bytes in all queues of the discipline when the call began."""
    @property
    def rate(self) -> int:
        """Nominal rate of the link in bit/s."""
    @property
    def mtu(self) -> int:
        """Largest packet in bytes."""
    def random(self) -> float:
        """Draw the next number of the queue's random stream, uniform in [0, 1)."""
    def below(self, n: int) -> int:
        """Draw the next whole number of the queue's random stream, uniform in 0..n."""

@final
class Fifo:
    """The queue during a call; 0 is its head."""

    def __len__(self) -> int: ...
    @property
    def bytes(self) -> int:
        """Bytes in this queue."""
    @property
    def total_packets(self) -> int:
        """Packets in all queues of the discipline."""
    @property
    def total_bytes(self) -> int:
        """Bytes in all queues of the discipline."""
    def meta(self, i: int = 0) -> Meta | None:
        """Packet `i`; None beyond the end."""
    def mark(self, i: int = 0, reason: str | None = None) -> bool:
        """Mark packet `i` CE, or drop it if it is Not-ECT; returns whether it is still queued."""
    def drop(self, i: int = 0, reason: str | None = None) -> None:
        """Drop packet `i`."""
    def pop(self) -> Meta | None:
        """Take the head out for transmission, at most once and in `dequeue` only; None if the queue is empty."""
