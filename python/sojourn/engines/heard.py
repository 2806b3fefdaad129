"""What the ends of a run on another engine knew, and what a summary makes of it: flows, transfers, samples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from sojourn import _core
from sojourn.model.results.payload import payload_summary

INFINITE_THRESHOLD = 0x7FFFFFFF
Bytes = tuple[int, int]
"""Payload that was delivered in order, and all that has arrived, each byte counted once."""
NONE: Bytes = (0, 0)
DATAGRAM_WORDS = ("sent", "received", "expected", "delay", "variation")


@dataclass(frozen=True)
class Opened:
    """A flow or a connection that was opened."""

    flow: int
    source: int
    port: int
    """Of the end that connects."""


@dataclass
class Heard:
    """What the ends tell, in tables; times in ns from the start of the scenario."""

    opened: list[Opened] = field(default_factory=list)
    opened_at: list[tuple[int, int]] = field(default_factory=list)
    """Source and time."""
    done: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    """Flow, source, begun, at, bytes."""
    asked: list[tuple[int, int, int]] = field(default_factory=list)
    """Source, time and bytes of each transfer that was asked for, where the scenario does not give its size."""
    closed: list[tuple[int, int]] = field(default_factory=list)
    """Source and time."""
    sent: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """By flow: source, data packets sent, and sent again."""
    flow_bytes: dict[tuple[int, int], Bytes] = field(default_factory=dict)
    """By time and flow."""
    group_bytes: dict[tuple[int, int], Bytes] = field(default_factory=dict)
    datagrams: dict[tuple[int, int], dict[str, int]] = field(default_factory=dict)
    samples: list[tuple[int, ...]] = field(default_factory=list)

    @classmethod
    def read(cls, lines: Iterable[str]) -> Heard:
        """Read the lines of the kernel's guest (guest/tool/traffic.c)."""
        heard = cls()
        for line in lines:
            word, *rest = line.split()
            heard._take(word, rest)
        return heard

    def _take(self, word: str, rest: list[str]) -> None:
        if word == "bytes" and rest[1] == "g":
            self.group_bytes[int(rest[0]), int(rest[2])] = (int(rest[3]), int(rest[4]))
            return
        numbers = [int(text) for text in rest]
        match word:
            case "opened":
                flow, source, port, _, at = numbers
                self.opened.append(Opened(flow, source, port))
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
                raise ValueError(f"the guest's program says {word!r}, which nobody understands")

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
        """The table `flows`; a flow of datagrams has no window."""
        before: dict[int, Bytes] = {}
        rows: list[tuple[int, int, float, float, float, int, float, float]] = []
        for at, flow, cwnd, threshold, rtt_us, in_flight, *payload in self.samples:
            then, before[flow] = before.get(flow, NONE), (payload[0], payload[1])
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


@dataclass(frozen=True)
class Window:
    """The statistics window, ns."""

    start: int
    end: int

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end - self.start) / 1e9


def flow_summaries(
    heard: Heard,
    document: Mapping[str, Any],
    flows: Sequence[int | None],
    groups: Sequence[int],
    late: Mapping[int, int],
    window: Window,
) -> list[dict[str, Any]]:
    """`flows` of the summary: those that last for the whole run; `late` has time-outs by flow."""
    summaries = []
    for flow, group in zip(flows, groups, strict=True):
        if flow is None:
            continue
        spec = document["flows"][group]
        _, sent, again = heard.sent.get(flow, (0, 0, 0))
        seen = _datagrams(heard, flow, window)
        if (window.end, flow) in heard.datagrams:
            sent = heard.datagrams[window.end, flow]["sent"]
        row = {"id": flow, "group": group, "kind": spec["kind"], "direction": spec["direction"]}
        row |= _payload(heard.flow_bytes, flow, window) | {"sent": sent, "retransmissions": again}
        summaries.append(
            row | {"timeouts": late.get(flow, 0)} | _datagram_summary(seen, is_voice=spec["kind"] == "voice")
        )
    return summaries


def group_summaries(
    heard: Heard,
    document: Mapping[str, Any],
    flows: Sequence[dict[str, Any]],
    groups: Sequence[int],
    late: Mapping[int, int],
    window: Window,
) -> list[dict[str, Any]]:
    """`groups` of the summary; `late` has time-outs by flow, also of those that come and go."""
    summaries = []
    group_of = {one.flow: groups[one.source] for one in heard.opened}
    for group, spec in enumerate(document["flows"]):
        mine = [row for row in flows if row["group"] == group]
        of = {source for source, number in enumerate(groups) if number == group}
        opened = [at for source, at in heard.opened_at if source in of and at <= window.end]
        # A flow that lasts belongs to the window whenever it starts.
        begun = len(mine) or sum(at >= window.start for at in opened)
        spans = [at - start for _, source, start, at, _ in heard.done if source in of and at >= window.start]
        gone = [(sent, again) for flow, (source, sent, again) in heard.sent.items() if source in of]
        rows = [(row["sent"], row["retransmissions"]) for row in mine if row["kind"] in _DATAGRAMS]
        totals = np.array([*gone, *rows, (0, 0)]).sum(axis=0)
        seen = [_datagrams(heard, row["id"], window) for row in mine]
        sums = {key: sum(one[key] for one in seen if one) for key in DATAGRAM_WORDS} if any(seen) else None
        scores = [row["mos"] for row in mine if row["mos"] is not None]
        summaries.append(
            {
                "kind": spec["kind"],
                "direction": spec["direction"],
                **_payload(heard.group_bytes, group, window),
                "offered_bytes": _offered(heard, spec, of, opened, window),
                "opened": begun,
                "closed": sum(source in of and at >= window.start for source, at in heard.closed),
                "transfers": len(spans),
                "completion_ms": json.loads(_core.quantiles_ms(np.array(spans, np.uint64))),
                "sent": int(totals[0]),
                "retransmissions": int(totals[1]),
                "timeouts": sum(count for flow, count in late.items() if group_of[flow] == group),
                **_datagram_summary(sums, calls=scores),
            }
        )
    return summaries


def _payload(counted: Mapping[tuple[int, int], Bytes], number: int, window: Window) -> dict[str, Any]:
    """What came to a flow's or a group's receivers in the window."""
    (delivered, arrived), (delivered_before, arrived_before) = (
        counted.get((at, number), NONE) for at in (window.end, window.start)
    )
    return payload_summary(arrived - arrived_before, delivered - delivered_before, window.seconds)


def _offered(heard: Heard, spec: Mapping[str, Any], sources: set[int], opened: Sequence[int], window: Window) -> int:
    """Payload of the transfers that were begun in the window."""
    if spec["kind"] == "packmime":
        return sum(size for source, at, size in heard.asked if source in sources and at >= window.start)
    if not spec.get("size") or spec["kind"] in _DATAGRAMS:
        return 0
    size = int(_core.size_bytes(spec["size"]))
    begun = [at for at in opened if at >= window.start]
    if spec["kind"] == "request":  # each answer is followed by the next question
        begun += [at for _, source, _, at, _ in heard.done if source in sources and at >= window.start]
    return size * len(begun)


def _datagrams(heard: Heard, flow: int, window: Window) -> dict[str, int] | None:
    """What the receiver of datagrams saw in the window."""
    last = heard.datagrams.get((window.end, flow))
    if last is None:
        return None
    first = heard.datagrams.get((window.start, flow), dict.fromkeys(last, 0))
    return {key: last[key] - first[key] for key in last}


def _datagram_summary(
    seen: Mapping[str, int] | None, *, is_voice: bool = False, calls: Sequence[float] | None = None
) -> dict[str, Any]:
    """Delay and loss of the datagrams of a flow, or of a group with the scores of its calls."""
    received, expected, delay, variation = ((seen or {}).get(key, 0) for key in DATAGRAM_WORDS[1:])
    found: dict[str, Any] = json.loads(_core.datagram_summary(received, expected, delay, variation, is_voice, calls))
    return found


_DATAGRAMS = ("cbr", "poisson", "streaming", "voice")
