"""Endpoint data of a run on another engine: opened flows, transfers, bytes, samples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

INFINITE_THRESHOLD = 0x7FFFFFFF
Bytes = tuple[int, int]
"""Payload delivered in order, and payload arrived, each byte counted once."""
NO_BYTES: Bytes = (0, 0)
DATAGRAM_WORDS = ("sent", "received", "expected", "delay", "variation")


@dataclass(frozen=True)
class OpenedFlow:
    """A flow or a connection that was opened."""

    flow: int
    source: int
    port: int
    """Source port of the connecting endpoint."""


@dataclass
class EndpointLog:
    """Events and counters of the endpoints; times in ns from the start of the scenario."""

    opened: list[OpenedFlow] = field(default_factory=list)
    opened_at: list[tuple[int, int]] = field(default_factory=list)
    """Source and time."""
    done: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    """Flow, source, start time, completion time and bytes of each transfer."""
    requested: list[tuple[int, int, int]] = field(default_factory=list)
    """Source, time and bytes of each requested transfer whose size is not in the scenario."""
    closed: list[tuple[int, int]] = field(default_factory=list)
    """Source and time."""
    sent: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """By flow: source, data packets sent, and retransmissions."""
    flow_bytes: dict[tuple[int, int], Bytes] = field(default_factory=dict)
    """By time and flow."""
    group_bytes: dict[tuple[int, int], Bytes] = field(default_factory=dict)
    datagrams: dict[tuple[int, int], dict[str, int]] = field(default_factory=dict)
    samples: list[tuple[int, ...]] = field(default_factory=list)

    @classmethod
    def read(cls, lines: Iterable[str]) -> EndpointLog:
        """Read the lines of the kernel's guest (guest/tool/traffic.c)."""
        log = cls()
        for line in lines:
            word, *rest = line.split()
            log._add(word, rest)
        return log

    def _add(self, word: str, rest: list[str]) -> None:
        if word == "bytes" and rest[1] == "g":
            self.group_bytes[int(rest[0]), int(rest[2])] = (int(rest[3]), int(rest[4]))
            return
        numbers = [int(text) for text in rest]
        match word:
            case "opened":
                flow, source, port, _, at = numbers
                self.opened.append(OpenedFlow(flow, source, port))
                self.opened_at.append((source, at))
            case "done":
                flow, source, begun, at, size = numbers
                self.done.append((flow, source, begun, at, size))
            case "closed":
                flow, source, at, sent, again = numbers
                self.closed.append((source, at))
                self.sent[flow] = (source, sent, again)
            case "failed":
                self.closed.append((numbers[1], numbers[2]))
            case "left":
                self.sent[numbers[0]] = (numbers[1], numbers[2], numbers[3])
            case "bytes":
                self.flow_bytes[numbers[0], numbers[1]] = (numbers[2], numbers[3])
            case "datagrams":
                self.datagrams[numbers[0], numbers[1]] = dict(zip(DATAGRAM_WORDS, numbers[2:], strict=True))
            case "sample":
                self.samples.append(tuple(numbers))
            case _:
                raise ValueError(f"unexpected output of the guest's program: {word!r}")

    def counts(self, flows: Sequence[int | None], groups: Sequence[int], timeouts: Mapping[int, int]) -> str:
        """Counters as JSON for `_core.end_summaries`; `timeouts` is by flow and connection."""
        counts = {
            "flows": flows,
            "groups": groups,
            "sources": [(one.flow, one.source) for one in self.opened],
            "opened": self.opened_at,
            "closed": self.closed,
            "transfers": [(source, begun, at) for _, source, begun, at, _ in self.done],
            "requested": self.requested,
            "sent": [(flow, *numbers) for flow, numbers in self.sent.items()],
            "timeouts": list(timeouts.items()),
            "flow_bytes": [(*key, *payload) for key, payload in self.flow_bytes.items()],
            "group_bytes": [(*key, *payload) for key, payload in self.group_bytes.items()],
            "datagrams": [
                (*key, [counters[word] for word in DATAGRAM_WORDS]) for key, counters in self.datagrams.items()
            ],
        }
        return json.dumps(counts, default=int)  # for NumPy's integers

    def transfers(self, groups: Sequence[int]) -> pl.DataFrame:
        """The table `transfers`."""
        flows, sources, begun, at, size = zip(*self.done, strict=True) if self.done else ((), (), (), (), ())
        return pl.DataFrame(
            {
                "group": pl.Series([groups[source] for source in sources], dtype=pl.UInt32),
                "flow": pl.Series(flows, dtype=pl.UInt32),
                "start_ns": pl.Series(begun, dtype=pl.UInt64),
                "duration_ns": pl.Series([a - b for a, b in zip(at, begun, strict=True)], dtype=pl.UInt64),
                "bytes": pl.Series(size, dtype=pl.UInt64),
            }
        )

    def flows(self, step_ns: int, datagrams: set[int]) -> pl.DataFrame:
        """The table `flows`; datagram flows have no window."""
        before: dict[int, Bytes] = {}
        rows: list[tuple[int, int, float, float, float, int, float, float]] = []
        for at, flow, cwnd, threshold, rtt_us, in_flight, *payload in self.samples:
            then, before[flow] = before.get(flow, NO_BYTES), (payload[0], payload[1])
            delivered, arrived = ((payload[i] - then[i]) * 8e9 / step_ns for i in (0, 1))
            limit = float("inf") if threshold >= INFINITE_THRESHOLD else float(threshold)
            window = (float(cwnd), limit, rtt_us / 1e3)
            if flow in datagrams or not cwnd:
                window = (float("nan"),) * 3
            rows.append((at, flow, *window, max(in_flight, 0), arrived, delivered))
        kinds = (pl.UInt64, pl.UInt32, pl.Float64, pl.Float64, pl.Float64, pl.UInt32, pl.Float64, pl.Float64)
        names = ("time_ns", "flow", "cwnd", "ssthresh", "srtt_ms", "in_flight", "goodput_bps", "delivered_bps")
        columns = zip(*rows, strict=True) if rows else ((),) * len(names)
        return pl.DataFrame(
            {name: pl.Series(column, dtype=kind) for name, kind, column in zip(names, kinds, columns, strict=True)}
        )
