"""The compiled core: scenarios, simulations and single queues."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

__all__ = [
    "UPTIME_NS",
    "Ack",
    "Algorithm",
    "AqmError",
    "CcEpisodes",
    "ControlClass",
    "Cx",
    "End",
    "Episodes",
    "Event",
    "Evidence",
    "Expression",
    "Fifo",
    "Flight",
    "InputError",
    "Limits",
    "Link",
    "Loss",
    "Meta",
    "Net",
    "Output",
    "PacketEpisodes",
    "PolicyNetwork",
    "Queue",
    "Report",
    "Sample",
    "Sentence",
    "Verdict",
    "Vocabulary",
    "bulk_groups",
    "check_aqm",
    "check_cc",
    "csv_of_trace",
    "diff",
    "diff_cc",
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
    "hosts",
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
    "read_table",
    "registry",
    "replay_decisions",
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
"""Uptime of a link's machine at the start of a run, in ns."""

class InputError(ValueError):
    """Wrong input; the message names the place and the remedy."""

class AqmError(RuntimeError):
    """A user's queue manager or congestion control failed.

    In Python, it raised: the message names class, method, time and line, and the cause is the exception. In a shared
    library, it broke a rule: the message names library, function, rule and time.
    """

def version() -> str:
    """Version of the core."""

@final
class Vocabulary:
    """Names that a sentence may use.

    `place` begins its errors. Each of `managers` is the spelling of a queue manager, a canonical scenario with it, and
    the parameters of its unregistered queue managers by path; both in JSON. `points` are further canonical scenarios.
    With `has_jain` the run's fairness index needs no group. Words without a link are about `link`, or about the first.
    """

    def __new__(
        cls,
        place: str,
        managers: Sequence[tuple[str, str, str]],
        points: Sequence[str],
        has_jain: bool,
        link: str = "",
    ) -> Vocabulary: ...

@final
class Evidence:
    """A run: its canonical scenario and its summary in JSON, and its histogram of sojourn times.

    `parameters` are those of its unregistered queue managers by path, in JSON; `histogram` has the columns of its table
    `sojourn_histogram`, if a sentence needs them.
    """

    def __new__(
        cls, scenario: str, summary: str, parameters: str, histogram: Mapping[str, npt.NDArray[Any]] | None = None
    ) -> Evidence: ...

@final
class Sentence:
    """A condition about runs. Raises `InputError` if it is wrong."""

    def __new__(cls, text: str, vocabulary: Vocabulary) -> Sentence: ...
    @property
    def text(self) -> str:
        """The text."""

    @property
    def comparisons(self) -> list[tuple[str, str, str, str]]:
        """Text, left side, right side and unit of each comparison."""

    @property
    def groups(self) -> list[int]:
        """Numbers of the flow groups that it names."""

    @property
    def needs_histogram(self) -> bool:
        """Whether it needs the histogram of sojourn times."""

    def margin(self, runs: Sequence[Evidence]) -> float:
        """Margin by which it is true for a run of each queue manager; positive if it is."""

    def sides(self, runs: Sequence[Evidence]) -> list[tuple[float, float]]:
        """Both sides of each comparison; NaN if a run has no value."""

@final
class Expression:
    """A number about a run. Raises `InputError` if it is wrong."""

    def __new__(cls, text: str, vocabulary: Vocabulary) -> Expression: ...
    @property
    def text(self) -> str:
        """The text."""

    @property
    def unit(self) -> str:
        """The unit: ms, Mbit/s, %, B, packets, or none."""

    @property
    def needs_histogram(self) -> bool:
        """Whether it needs the histogram of sojourn times."""

    def value(self, runs: Sequence[Evidence]) -> float:
        """The number for a run of each queue manager; NaN if a run has none."""

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
    registry. Relative paths of queue managers in Python and of distribution tables start from the folder `base`;
    without `read` tables are not read and need not exist.
    """

def check_aqm(aqm: str, operations: int, seed: int, progress: Callable[[float], object] | None = None) -> str:
    """Run random operations on a queue manager, `operations` of them or until it breaks a rule; JSON.

    `cases`, `operations` and packets that `arrived`, `departed` and were `dropped` or `marked`; `violation` is None or
    `rule`, `step`, `detail` and `case`. A library that breaks the interface raises AqmError. The other arguments are
    those of `simulate`; relative paths start from the current folder.
    """

def check_cc(
    spelling: str, base: str, events: int, seed: int, progress: Callable[[float], object] | None = None
) -> str:
    """Check a congestion control in scripted connections and in random ones with at least `events` calls; JSON.

    `connections` and `calls`; `passed`; `fingerprint`, a hash of all calls and results that another process must find,
    too; `parts`, each with `name`, `outcome` ("passed", "noted", "skipped" or "failed") and `detail`. The interpreter
    lock is released meanwhile; `progress` as for `simulate`. Relative paths start from `base`.
    """

def diff_cc(
    a: str,
    b: str,
    base: str,
    events: int,
    seed: int,
    progress: Callable[[float], object] | None = None,
    stacks: list[str] = ...,
) -> str:
    """Make the calls of random connections of the control `a` to the control `b`, too; compare `events` of them; JSON.

    `connections` and `calls`; `needs`, lines about faces and needs that differ; `fault` of A, or None; and
    `first_difference`, None or `number`, `connection`, `stack`, `time_ns`, `call`, `field`, `a`, `b` and `earlier`. The
    other arguments are those of `check_cc`; `stacks` limits the connections to some of linux-6.1, linux-3.13 and
    quic-rfc9002.
    """

def diff(
    a: str,
    b: str | None,
    setup: Mapping[str, object],
    arrivals: Mapping[str, npt.NDArray[Any]],
    recorded: Mapping[str, npt.NDArray[Any]] | None = None,
    progress: Callable[[float], object] | None = None,
) -> str:
    """Play arrivals through the discipline `a` and compare with `b` or with the recorded verdicts; JSON.

    `setup`: `rate`; `overhead`, bytes that the link adds to each packet, below the queue; `mtu`; `limit`; `seed`;
    `link`, its number; `kernel`, whether the arrivals are from the Linux kernel or from the simulator; `told`, whether
    the sender is notified of drops on arrival by the queue manager, by a full queue, and of a packet queued before its
    drop; `drops_on_arrival`, whether the recorded queue dropped arriving packets only; `origin_ns`, the origin of the
    reported times on the queue's clock.

    `arrivals`, in order of time: `time_ns` (uint64), `bytes`, `flow`, `from_host`, `to_host` (uint32), `ecn` and `dscp`
    (uint8), and for a queue that duplicates `copy` (bool): whether this is the duplicate of the packet before.

    `recorded`: `fate` (uint8) and `fate_ns` (uint64). The codes are those of the column `fate` of a log, then 6 dropped
    with notification of the sender, 7 dropped without (both without a time), 8 still queued at that time, 9 dropped at
    that time for an unknown reason, 10 not to be compared.

    The interpreter lock is released meanwhile; `progress` as for `simulate`.
    """

def made_up_arrivals(seed: int, packets: int, rate: str) -> dict[str, npt.NDArray[Any]]:
    """Synthetic arrivals that bring out differences, as columns: `packets` of eight flows for a link of `rate`."""

def tc_queue(aqm: str, line: str, created_ns: int | None) -> dict[str, Any]:
    """Settings for comparing `aqm` with a queue recorded in tc's syntax.

    `aqm`: its shortest spelling with the parameters of `line` that it does not give itself; `limit` of its queue;
    `told` and `drops_on_arrival` as `diff` takes them; `instead`: the name of the same discipline as Linux has it, if
    `aqm` is another variant, else None.
    """

def spelled_rate(text: str) -> str:
    """Normalised spelling of a rate: "9.600000000000001 Mbit/s" is "9.6 Mbit/s"."""

def paths(scenario_json: str) -> list[tuple[list[int], list[int]]]:
    """Numbers of the links that data and acknowledgments of each flow group cross, in order; empty in a wireless LAN.

    Link 2i is the forward direction of bottleneck i, 2i + 1 its reverse direction.
    """

def hosts(scenario_json: str) -> npt.NDArray[np.uint32]:
    """Numbers of the hosts of each source of a scenario in numeric order: a row of the source's and the sink's."""

def plan(scenario_json: str, seed: int) -> list[dict[str, Any]]:
    """Every source of a scenario in numeric order: `group`, `start_ns`, `stop_ns` (None for never), and `times_ns`.

    `times_ns` are the times at which it sends each datagram or requests each connection, except times that depend on
    earlier transfers.
    """

def state_of_queue(seed: int, link: int) -> int:
    """State of the random stream (splitmix64) of a link's queue in a run, before its first draw.

    Link 2i is the forward direction of bottleneck i, 2i + 1 its reverse direction.
    """

def summarise(
    scenario_json: str, seed: int, limits: Sequence[tuple[str, bool]], entries: Mapping[str, npt.NDArray[Any]]
) -> Output:
    """Statistics of a scenario's links from a recording of another engine, and the tables of the packet probes.

    `limits` has for each link the limit of its discipline ("1000 packets", "unlimited"), and whether that also drops
    arrivals before the limit. `entries`, in order of time: `time_ns`; `what`, 0 for a packet that arrives, 1 for one
    that is sent, 2 for one dropped later, 3 for one dropped because of an arrival, 4 for one dropped with its queue,
    which was replaced; `link`; `packet`, numbered from 0 in order of arrival; `ecn`; and, read for arrivals only,
    `flow`, `bytes`, `segments` (1, or those of a super-packet), `from_host` and `to_host`.

    The summary has `warmup_s`, `links`, `hops` and `fingerprint`, and `settled` and `not_settled` if the warm-up was to
    be detected; in `windows`, values that only the ends know are not numbers.
    """

def quantiles_ms(times_ns: npt.NDArray[np.uint64]) -> str:
    """Mean, quantiles and maximum of times in ns, in ms; JSON."""

def starts(scenario_json: str) -> npt.NDArray[np.uint64]:
    """Possible start times of a run's statistics, in ns; the first is the start of the run."""

def mser(series: Sequence[float], batch: int) -> int | None:
    """Number of values at the head of `series` that belong to its transient, by MSER with batches of `batch` values.

    None if it has not settled.
    """

def end_summaries(scenario_json: str, counts: str, starts_ns: Sequence[int], end_ns: int) -> str:
    """Return the part of a summary that only the ends of a run know, from each of `starts_ns` to `end_ns`; JSON.

    `counts` is JSON with the fields of `EndpointCounts` in the crate `sojourn-sim`.
    """

def payload_summary(arrived: int, delivered: int, seconds: float) -> str:
    """`goodput_bps`, `bytes`, `delivered_bps` and `delivered_bytes` of a window; JSON.

    `arrived` are bytes that arrived for the first time, `delivered` those delivered in order.
    """

def bulk_groups(scenario_json: str) -> list[bool]:
    """Whether each flow group of a canonical scenario has bulk flows.

    Bulk flows have data to send until the end of the run, at no rate of their own.
    """

def whole(groups: Sequence[Mapping[str, Any]], lasting: Sequence[tuple[int, float]]) -> str:
    """`goodput_bps`, `delivered_bps` and `jain` of a whole run, and `jain_of_groups`; JSON.

    `groups` are all flow groups in order (`is_bulk`, `forward`, `goodput_bps`, `delivered_bps`), `lasting` has
    group and goodput of each flow that lasts for the whole run.
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
    """TCP segments and UDP datagrams of a pcap or pcapng file, their SACK blocks, and the texts of their addresses.

    Addresses are numbered from 0. The last item has notes on what could not be used.
    """

def load_trace(path: str) -> npt.NDArray[np.uint32]:
    """Opportunities of the trace file at `path`, in milliseconds."""

def trace_stats(opportunities_ms: npt.NDArray[np.uint32], mtu: int) -> str:
    """JSON of a trace's statistics if an opportunity carries `mtu` bytes."""

def lte_presets() -> str:
    """Presets of the LTE-like model, as JSON: name, the recording that it is fitted to, and its mean rate."""

def synth_lte(preset: str, seconds: int, seed: int) -> npt.NDArray[np.uint32]:
    """Opportunities of `seconds` s of an LTE-like link, in milliseconds; a seed gives the same result everywhere."""

def trace_of_csv(
    csv: str, mtu: int, bursts: str | None = None, seed: int = 1, units: tuple[str, str] | None = None
) -> npt.NDArray[np.uint32]:
    """Opportunities of `mtu` bytes for a rate series in CSV, in milliseconds.

    They are evenly spaced within a step, or in the bursts of an LTE-like preset. `units`: those of times and rates
    without units.
    """

def csv_of_trace(opportunities_ms: npt.NDArray[np.uint32], step_ms: int, mtu: int) -> str:
    """Rates of a trace in steps of `step_ms`, as CSV."""

def doctor(progress: Callable[[float, int, int], object] | None = None, measures: bool = True) -> str: ...
def emulate(words: list[str]) -> dict[str, Any]:
    """Run a command line of the emulator to its end. Only for a single-threaded process, because it forks.

    Returns the exit `code`, or minus the signal number if a signal ended the command; the folder `log` of the log, or
    None; the sentences `expected` that must be true of it, if the command succeeded; whether these are its only use
    (`is_temporary`), and whether nothing but errors is printed (`is_quiet`).
    """

def emulated(
    logs: list[str], scenario_json: str
) -> tuple[Output, str, dict[int, list[dict[int, int]]], list[list[int]]]:
    """Summary and tables of a simulation, computed from the logs of both directions of every link of a scenario.

    `logs` has the first link first, and of each link the forward direction first. Also, as JSON by queue name, how far
    each log agrees with a replay through the simulator's queue, and how many of its packets were late or refused; and,
    for each possible start of the statistics in ns, the payload in bytes that left for the first time from then on, by
    queue and flow; and per log the packets lost on the medium after their link, by their numbers
    among its arrivals.

    The scenario gives names of links, warm-up, length and probes. Its traffic is read only to find out whether the load
    changes.
    """

def dscp(text: str) -> int:
    """DSCP of a name, such as EF, or of a number as a text."""

def emulated_flow(source: bytes, destination: bytes, source_port: int, port: int) -> int:
    """Number of a TCP flow in the logs of an emulated link.

    Addresses as 4 or 16 bytes, ports of sender and receiver.
    """

def emulated_head(path: str) -> str:
    """Header of a log of an emulated path and the time of its last record in ns, as JSON."""

def need(scenario_json: str) -> tuple[int, int]:
    """Maximum memory of a run in bytes: for lasting flows and packets in flight, and for the rows of all probes.

    Rows that are written during the run need no memory.
    """

def read_table(file: Path) -> dict[str, npt.NDArray[Any]] | None:
    """Columns of a table that a run has written to a file; None for a file of another writer.

    Raises `InputError` for one that cannot be read.
    """

def simulate(
    scenario_json: str,
    seed: int,
    progress: Callable[[float], object] | None = None,
    folder: Path | None = None,
    grows: Callable[[int, str], object] | None = None,
) -> Output:
    """Simulate a scenario (TOML or JSON text with absolute paths) once.

    The interpreter lock is released meanwhile, unless a queue manager is in Python; about every 50 ms signals are
    handled and `progress` is called with the share done, from 0 to 1. An exception of either ends the run, and so does
    one in a queue manager. With a `folder` the tables are written there as Parquet during the run, so that they take no
    memory; a failed write raises `OSError`. Before large queues are created and before a large list of the run grows,
    `grows` is called with the bytes needed and the purpose; an exception of it ends the run.
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
    """Slots for episodes of scenarios with a queue under a policy.

    `step` as a time with its unit; `action`, `observe` and `reward` by name (an empty reward: the caller computes it);
    `start` in tc's syntax or empty: the manager before the first action, or to the end if `native`.
    """

    observations: npt.NDArray[np.float32]
    """Observation of each episode; written in place."""
    rewards: npt.NDArray[np.float64]
    """Reward of each episode's last step; written in place by `step`."""
    over: npt.NDArray[np.bool_]
    """Whether each episode ended with its last step; written in place by `step`."""

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
        """Set the scenario of the next episodes in a slot: JSON text after the overrides `sets`.

        Its relative paths start from `base`.
        """

    def reset(self, places: list[int], seeds: list[int]) -> None:
        """Start episodes with these seeds in these slots and write their first observations.

        Signals are handled meanwhile.
        """

    def step_one(self, action: float) -> tuple[float, bool]:
        """Step the episode in the first slot; return its reward and whether it has ended."""

    def step(self, actions: npt.NDArray[np.float64], going: npt.NDArray[np.bool_]) -> None:
        """Step every running episode by its action."""

    def time_s(self, place: int) -> float:
        """End of the last step in a slot, in seconds."""

    def raw(self, place: int) -> dict[str, Any]:
        """Counters of the last step in a slot, by name; times in seconds.

        `flows` has a row per flow that lasts for the whole run: payload bytes delivered in order, packets sent,
        retransmissions since the start, and the current congestion window in segments and smoothed round-trip time in
        milliseconds.
        """

    def finish(self, place: int) -> str | None:
        """End the episode in a slot; return its summary as JSON, or None if there is none.

        The rest of the scenario runs under the last action.
        """

@final
class CcEpisodes:
    """A slot for episodes with an agent per flow of a group, at most `most` agents.

    `step` as a time with its unit or "rtt", `delay` as a time; `action`, `observe` and `reward` by name (an empty
    reward: the caller computes it); with `native` that control runs instead of agents.
    """

    observations: npt.NDArray[np.float32]
    """Observation of each agent; written in place."""
    rewards: npt.NDArray[np.float64]
    """Reward of each agent's last step; written in place by `step`."""
    due: npt.NDArray[np.bool_]
    """Whether each agent's step has just ended; written in place."""
    over: npt.NDArray[np.bool_]
    """Whether each agent's application has stopped, or the scenario has ended; written in place."""

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
        """Set the scenario of the next episodes, as `Episodes.set` does; return the number of agents."""

    def reset(self, seed: int) -> None:
        """Start an episode and run until a connection is open. Signals are handled meanwhile."""

    def step(self, actions: npt.NDArray[np.float64]) -> None:
        """Apply the actions of the agents whose step begins, and run until the next step of an agent ends."""

    def time_s(self) -> float:
        """End of the last step, in seconds."""

    def raw(self, agent: int) -> dict[str, Any]:
        """Counters of an agent's last step, by name; times in seconds, rates in payload bits per second."""

    def finish(self) -> str | None:
        """End the episode; return its summary as JSON, or None if there is none.

        The rest of the scenario runs under the last actions.
        """

@final
class PacketEpisodes:
    """A slot for episodes with one action per packet that arrives at the bottleneck.

    `observe` by name, for the last `stack` packets; three numbers of the packet itself follow.
    """

    observation: npt.NDArray[np.float32]
    """The observation; written in place."""

    def __new__(cls, observe: list[str], stack: int) -> PacketEpisodes: ...
    def set(self, scenario_json: str, sets: list[tuple[str, str]] = ..., base: str = "/") -> None:
        """Set the scenario of the next episodes, as `Episodes.set` does."""

    def reset(self, seed: int) -> bool:
        """Start an episode and run to the first arriving packet; return whether there is one."""

    def step(self, action: float) -> tuple[float, bool]:
        """Apply the action to the packet (0 accepts, 1 marks, 2 drops) and run to the next one.

        Returns the reward and whether it was the last packet.
        """

    def time_s(self) -> float:
        """Arrival time of the packet, or the end, in seconds."""

    def finish(self) -> str | None:
        """End the episode; return its summary as JSON, or None if there is none."""

@final
class PolicyNetwork:
    """A policy from a file: its action for an observation is that of the queue manager of the same name."""

    def __new__(cls, text: str) -> PolicyNetwork: ...
    def forward(self, observation: npt.NDArray[np.float32]) -> list[float]:
        """Output of the last layer for an observation of as many numbers as it takes."""

def gym_cc_names() -> dict[str, Any]:
    """Names that environments of connections accept, as `gym_names` for queues."""

def gym_names() -> dict[str, Any]:
    """Names that an environment accepts.

    `actions` with minimum, maximum and whether they are discrete, `observations` with their meaning, those in the
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

        `flow` is the flow number, `hosts` the numbers of its sending and receiving host, `class_` its class or
        priority, and `tag` is returned when it leaves.
        """

    def pop(self, now_ns: int) -> tuple[Any, int, bool] | None:
        """Dequeue the next packet at `now_ns`: its tag, its sojourn time in nanoseconds, and whether it carries a mark.

        None if there is none. The manager may drop packets on the way.
        """

    def not_before(self) -> int | None:
        """Earliest time at which queued packets may leave, if the last pop found that none may leave yet.

        Only of queues that shape.
        """

    def statistics(self) -> str | None:
        """Statistics as `tc -s -j qdisc` prints them, as JSON; None for a discipline that tc does not have."""

    def dropped(self) -> list[tuple[Any, str]]:
        """Tags and reasons of the packets dropped since the last call."""

    def backlog(self) -> tuple[int, int]:
        """Packets and bytes queued."""

    def state(self) -> dict[str, float]:
        """State variables of the queue manager by name; times in seconds."""

@final
class End:
    """One end of an endpoint flow."""

    @property
    def name(self) -> str:
        """Name, as in sentences: "call.source"."""

    @property
    def address(self) -> tuple[str, int] | tuple[str, int, int, int]:
        """Address as asyncio has it: host and port, and with IPv6 flow label and scope."""

@final
class Event:
    """An event of an end: "begin", "wake", "room", "stop", "datagram" or "too_big"."""

    @property
    def kind(self) -> str:
        """Kind."""

    @property
    def end(self) -> End:
        """The end."""

    @property
    def data(self) -> bytes | None:
        """Payload of a datagram, else None."""

    @property
    def remote(self) -> tuple[str, int] | tuple[str, int, int, int] | None:
        """Source address of a datagram on the wire; destination of a packet that was too big; else None."""

    @property
    def local(self) -> tuple[str, int] | tuple[str, int, int, int] | None:
        """The address that a datagram was sent to, else None."""

    @property
    def ecn(self) -> str | None:
        """ECN field of a datagram, else None."""

    @property
    def tag(self) -> str | None:
        """Tag of a datagram, or None."""

    @property
    def mtu(self) -> int | None:
        """IP bytes of the largest packet that passes, if one was too big; else None."""

@disjoint_base
class Net:
    """A network whose ends are programs: a scenario with flows of `kind = "endpoint"`, as text in TOML or JSON.

    Relative paths of its files start from the folder `base`. Times are integer nanoseconds of the run. With `log` every
    datagram is kept for the decision log, about 100 bytes each. Raises `InputError`.
    """

    def __new__(cls, text: str, seed: int = 1, base: str = ".", name: str | None = None, log: bool = True) -> Self: ...
    @property
    def ends(self) -> list[End]:
        """Every end."""

    @property
    def now(self) -> int:
        """Time of the net."""

    @property
    def duration(self) -> int:
        """Duration of the run."""

    @property
    def seed(self) -> int:
        """Seed of the run."""

    @property
    def finished(self) -> bool:
        """Whether `finish` has been called."""

    def pair(self, name: str, member: int = 0) -> tuple[End, End]:
        """Source and sink of an endpoint group; of pair number `member` if it has several."""

    def address(self, end: End | str) -> tuple[str, int] | tuple[str, int, int, int]:
        """Address of an end."""

    def send(
        self,
        end: End | str,
        data: bytes | bytearray | memoryview,
        to: tuple[str, int] | tuple[str, int, int, int] | End | None = None,
        *,
        local: tuple[str, int] | tuple[str, int, int, int] | None = None,
        ecn: str = "not-ect",
        segment_size: int | None = None,
        at: int | None = None,
        tag: str | None = None,
    ) -> None:
        """Send a datagram from an end to `to`, or several of `segment_size` bytes each.

        They leave now, in the order of the calls, or at the time `at`. `ecn` is "not-ect", "ect0", "ect1" or "ce";
        `tag` one of the group's. Raises `BlockingIOError` if the host has no room now: the event "room" follows. In a
        group with `layer = "ip"`, `data` is an IP packet, whose header has the addresses and the ECN field.
        """

    def has_room(self, end: End | str) -> bool:
        """Whether the host of an end accepts a datagram now."""

    def wake(self, end: End | str, at: int | None) -> None:
        """Set the one deadline of an end; None for never.

        The event "wake" comes at `at`, or at once if that has passed. A deadline that is moved later may still wake the
        end at its former time; then it stands.
        """

    def next(self) -> Event | None:
        """Move the clock to the next event of an end and return it; None at the end of the run."""

    def next_batch(self) -> list[Event]:
        """Move the clock to the next event and return all events of that instant; empty at the end of the run."""

    def advance(self, now_ns: int) -> Event | None:
        """Return the next event up to and including `now_ns`; None once the net's clock is there.

        For a leader with another clock, which advances before it sends, and asks for `due()` after it has.
        """

    def due(self) -> int | None:
        """When the next event of the run is due, of an end or not; None once the run has ended."""

    def note(self, end: End | str, name: str, value: float) -> None:
        """Add a value to the statistics of an end's `name`: `note(call.source.cwnd)` in sentences."""

    def completed(self, end: End | str, begun_ns: int, size: int) -> None:
        """Count a transfer of an end's group that began at `begun_ns` and whose last byte has arrived now.

        `p95(completion, call)` in sentences.
        """

    def finish(self) -> Report:
        """End the run here if it has not ended, and return its results. The net accepts no further calls."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Event: ...

def replay_decisions(path: str | Path) -> tuple[Report, str]:
    """Send the datagrams of a decision log at their times, without the programs, until the end of the run.

    Returns the report, and the fingerprint of the run that wrote the log; empty if the log does not have it. Raises
    `InputError` for a log that is of another form.
    """

@final
class Report:
    """Results of a run."""

    @property
    def name(self) -> str:
        """Name of the run."""

    @property
    def seed(self) -> int:
        """Seed of the run."""

    @property
    def summary(self) -> dict[str, Any]:
        """Summary of the run, as of every simulation."""

    @property
    def record(self) -> dict[str, Any]:
        """Record of the run for `sojourn gate`: world, seed, summary, histogram of sojourn times, hashes."""

    @property
    def fingerprint(self) -> str:
        """Hash of every verdict and departure of every queue, in 16 hexadecimal digits."""

    @property
    def decisions(self) -> str:
        """Hash of every datagram sent: time, end, addresses, size, ECN field and tag."""

    @property
    def world(self) -> str:
        """Hash of the scenario, in 16 hexadecimal digits."""

    @property
    def datagrams(self) -> int:
        """Number of datagrams sent."""

    def expect(self, sentence: str) -> None:
        """Demand that a sentence about the run holds, such as "p99(delay, call) <= 30 ms and share(call) >= 30 %".

        Raises `AssertionError` with both sides, the seed, the hashes, the decision log and a command that repeats the
        run, and `InputError` for a sentence that cannot be read.
        """

    def judge(self, sentence: str) -> Verdict:
        """Judge a sentence about the run. Raises `InputError` if it cannot be read."""

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write NAME-SEED.json, the record, and NAME-SEED.decisions, the decision log, into a folder.

        Returns the path of the log.
        """

    def log(self) -> list[tuple[int, str, str, int, str]]:
        """Every datagram sent, unless the net keeps no log: time, source, destination, payload bytes, ECN field."""

    def tables(self) -> dict[str, dict[str, npt.NDArray[Any]]]:
        """Recorded tables by name, each a dictionary of columns."""

@final
class Verdict:
    """Result of a sentence about a run; true if it holds."""

    @property
    def sentence(self) -> str:
        """The sentence."""

    @property
    def holds(self) -> bool:
        """Whether it holds."""

    @property
    def margin(self) -> float:
        """By how much: positive if it holds."""

    @property
    def sides(self) -> list[tuple[str, str, float, float]]:
        """Per comparison: its text, its unit, and the values of both sides; NaN for a run without the value."""

    def __bool__(self) -> bool: ...

@final
class Algorithm:
    """A class as an algorithm. It lives as long as the program, like a registered one; there is one per class.

    `params` are name and default of each parameter of `__init__`, and the words of a choice: a default's type, or the
    unit in its text, gives the type of the parameter.
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
        """Shortest spelling with `params` set by name, and the values that an instance gets: ns, bytes, bit/s."""

@final
class ControlClass:
    """A class as a congestion control.

    `params` are name and default of each parameter of `__init__`, and the words of a choice; `methods_and_needs` the
    methods that the class defines, and the names of services beyond them.
    """

    def __new__(
        cls,
        name: str,
        params: Sequence[tuple[str, Any, list[str]]],
        make: Callable[[dict[str, Any]], object],
        methods_and_needs: tuple[list[str], list[str]],
    ) -> ControlClass: ...
    def configure(self, params: list[tuple[str, str]]) -> tuple[str, dict[str, Any]]:
        """Shortest spelling with `params` set by name, and the values that an instance gets: ns, bytes, bit/s."""

@final
class Flight:
    """State of a connection during a call.

    `cwnd`, `ssthresh` and `cwnd_cnt` may be set, and by a control with `ack` also `pacing_rate`, `burst` and
    `exact_burst`.
    """

    @property
    def now(self) -> int:
        """The time in ns."""
    @property
    def stack(self) -> str:
        """TCP stack, such as "linux-6.1"; over QUIC the one whose arithmetic is expected."""
    @property
    def is_quic(self) -> bool:
        """Whether the transport is QUIC."""
    @property
    def is_paced(self) -> bool:
        """Whether segments are paced."""
    @property
    def mss(self) -> int:
        """Payload of a full segment in bytes."""
    @property
    def srtt(self) -> int | None:
        """Smoothed RTT in ns; None before the first sample."""
    @property
    def min_rtt(self) -> int | None:
        """Minimum RTT of the last 300 s in ns; None without."""
    @property
    def cwnd(self) -> int:
        """Congestion window in segments."""
    @cwnd.setter
    def cwnd(self, value: int) -> None: ...
    @property
    def ssthresh(self) -> int:
        """Slow-start threshold in segments; 0x7fffffff before the first reduction."""
    @ssthresh.setter
    def ssthresh(self, value: int) -> None: ...
    @property
    def cwnd_cnt(self) -> int:
        """Packets acknowledged since the last change of cwnd; reset by the stack when it restarts the window."""
    @cwnd_cnt.setter
    def cwnd_cnt(self, value: int) -> None: ...
    @property
    def prior_cwnd(self) -> int:
        """In `undo` since Linux 4.14: window before the reduction; otherwise 0."""
    @property
    def in_slow_start(self) -> bool:
        """Whether cwnd is below ssthresh, as the stack counts it."""
    @property
    def in_flight(self) -> int:
        """Segments estimated to be in the network."""
    @property
    def packets_out(self) -> int:
        """Segments sent and not acknowledged."""
    @property
    def burst(self) -> int:
        """Minimum number of segments per burst; 0 leaves it to the stack."""
    @burst.setter
    def burst(self, value: int) -> None: ...
    @property
    def exact_burst(self) -> bool:
        """Whether `burst` is the exact number."""
    @exact_burst.setter
    def exact_burst(self, value: bool) -> None: ...
    @property
    def state(self) -> str:
        """State of congestion avoidance: "open", "disorder", "cwr", "recovery" or "loss"."""
    @property
    def pacing_rate(self) -> int | None:
        """Pacing rate in bit/s of payload; None without pacing."""
    @pacing_rate.setter
    def pacing_rate(self, value: int | None) -> None: ...
    @property
    def delivered(self) -> int:
        """Packets delivered since the start, the SYN included."""
    @property
    def delivered_ce(self) -> int:
        """Delivered packets with a CE mark."""
    @property
    def delivered_at(self) -> int:
        """Time of the last delivery in ns, on the host's clock: compare it with itself only."""
    @property
    def lost(self) -> int:
        """Packets marked lost since the start."""
    @property
    def una(self) -> int:
        """Cumulative acknowledgment: all data before it has arrived; over QUIC a packet number."""
    @property
    def nxt(self) -> int:
        """Next sequence number to be sent; over QUIC a packet number."""
    @property
    def is_cwnd_limited(self) -> bool:
        """Whether the window limits transmission."""
    @property
    def is_app_limited(self) -> bool:
        """Whether the application limits the rate."""
    @property
    def next_departure(self) -> int:
        """Earliest departure of the next burst, in ns."""
    def mark_app_limited(self) -> None:
        """Mark what is sent now as limited by the application, because the control sends less than it could."""
    def random(self) -> float:
        """Return a random number in [0, 1) from the connection's own stream."""
    def below(self, n: int) -> int:
        """Return a random whole number in [0, n) from the connection's own stream."""

@final
class Ack:
    """An acknowledgment."""

    @property
    def packets(self) -> int:
        """Packets acknowledged, or counted for growth; 0 for a duplicate."""
    @property
    def rtt(self) -> int | None:
        """RTT in ns of the newest of them; None if it was retransmitted."""
    @property
    def one_way(self) -> int | None:
        """In `report`: one-way delay in ns plus an unknown constant; None without timestamps."""
    @property
    def limited(self) -> bool:
        """In `grow`: whether the window was the limit."""
    @property
    def slow_path(self) -> bool:
        """In `report`: whether it is a duplicate, or has SACK blocks or an ECN echo."""

@final
class Sample:
    """Rate sample of an acknowledgment, as Linux's `rate_sample`."""

    @property
    def delivered(self) -> int | None:
        """Packets delivered over `interval`; None without a sample."""
    @property
    def delivered_ce(self) -> int:
        """Delivered packets with a CE mark."""
    @property
    def interval(self) -> int | None:
        """Time of their delivery in ns; None without a valid sample."""
    @property
    def send_interval(self) -> int:
        """Time in ns between the transmissions of the first and the sampled segment."""
    @property
    def ack_interval(self) -> int:
        """Time in ns between their deliveries."""
    @property
    def prior_delivered(self) -> int:
        """`delivered` of the flight when the sampled segment was sent."""
    @property
    def rtt(self) -> int | None:
        """RTT in ns of the newest segment that was sent once; None without."""
    @property
    def acked_sacked(self) -> int:
        """Packets that this acknowledgment newly acknowledged or SACKed."""
    @property
    def ce(self) -> int:
        """Delivered packets with a CE mark."""
    @property
    def losses(self) -> int:
        """Packets marked lost on this acknowledgment."""
    @property
    def prior_in_flight(self) -> int:
        """Packets in flight before this acknowledgment."""
    @property
    def tx_in_flight(self) -> int:
        """Packets in flight when the sampled segment was sent, with it."""
    @property
    def lost(self) -> int:
        """Packets marked lost since the sampled segment was sent."""
    @property
    def is_app_limited(self) -> bool:
        """Whether the application may have limited the rate."""
    @property
    def is_retransmitted(self) -> bool:
        """Whether the sampled segment was retransmitted."""
    @property
    def is_ack_delayed(self) -> bool:
        """Whether this is probably a delayed acknowledgment of a single short segment."""

@final
class Loss:
    """A segment marked lost."""

    @property
    def tx_in_flight(self) -> int:
        """Packets in flight right after its transmission."""
    @property
    def lost(self) -> int:
        """Packets marked lost since its transmission, this one included."""
    @property
    def is_app_limited(self) -> bool:
        """Whether the application may have limited the rate when it was sent."""
    @property
    def continues(self) -> bool:
        """Whether the preceding segment in sequence order is lost too."""

@final
class Meta:
    """Metadata of a packet at the time of the query."""

    @property
    def enqueued(self) -> int:
        """Time of its enqueue, in ns."""
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
    """Context of a call: the time, the queue's random stream, and the backlog when the call began."""

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
        """Return the next number of the queue's random stream, uniform in [0, 1)."""
    def below(self, n: int) -> int:
        """Return the next integer of the queue's random stream, uniform in 0..n."""

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
