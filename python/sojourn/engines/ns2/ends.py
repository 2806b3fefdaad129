"""What the ends of a run on ns-2 knew: the receivers from the trace, the senders from what they said at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.engines.heard import Heard, Opened
from sojourn.engines.ns2.network import DATAGRAMS, HEADERS
from sojourn.engines.ns2.traffic import Traffic
from sojourn.engines.ns2.web import KIND, Connection, came_in_order
from sojourn.engines.recorded import Ends
from sojourn.engines.values import nanoseconds, octets

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]

DATAGRAM_HEADERS = 28
OF_SENDERS = ("flow ", "sample ")
"""What lines about flows begin with that last for the run."""
SRTT_US = 10_000 // 8
"""Unit of `srtt_`: an eighth of `tcpTick_`."""


@dataclass(frozen=True)
class Received:
    """A flow's payload at its receiver: when it arrived first, and when it was delivered in order, each with totals."""

    arrived_at: Numbers
    arrived: Numbers
    delivered_at: Numbers
    delivered: Numbers

    def until(self, at: int) -> tuple[int, int]:
        """Bytes delivered in order, and bytes arrived, up to an instant."""
        return _until(self.delivered_at, self.delivered, at), _until(self.arrived_at, self.arrived, at)


def ends(
    document: Mapping[str, Any],
    plan: Sequence[Mapping[str, Any]],
    traffic: Traffic,
    said: Sequence[str],
    opened: Sequence[Connection],
    came: Mapping[int, pl.DataFrame],
    starts: Sequence[int],
) -> Ends:
    """Put together what the ends knew.

    `opened` has the connections that came and went, `came` what arrived by flow, `starts` when statistics can begin.
    """
    heard, late = Heard(), _senders(said)
    end = nanoseconds("duration", document["duration"])
    looks = [*starts, end]
    received = {}
    for flow, (group, kind) in enumerate(zip(traffic.groups, traffic.kinds, strict=True)):
        if kind == KIND:
            continue
        spec, planned = document["flows"][group], plan[flow]
        mine = came.get(flow, _NOTHING)
        received[flow] = _in_order(mine, _most(spec)) if kind == "tcp" else _any_order(mine)
        heard.flow_bytes |= {(at, flow): received[flow].until(at) for at in looks}
        heard.opened.append(Opened(flow, flow, 0))
        if planned["start_ns"] < end:
            heard.opened_at.append((flow, planned["start_ns"]))
        if kind == "tcp":
            heard.sent[flow] = (flow, *late[flow][:2]) if flow in late else (flow, 0, 0)
            _transfer(heard, flow, spec, planned["start_ns"], received[flow])
        else:
            heard.datagrams |= _datagrams(flow, planned["times_ns"], mine, looks)
    for one in opened:
        received[one.flow] = Received(*map(np.array, came_in_order(came.get(one.flow, _NOTHING))))
        _connection(heard, one)
    of_flows = traffic.groups + [traffic.groups[one.source] for one in opened]
    for at in looks:
        for flow, payload in received.items():
            delivered, arrived = payload.until(at)
            before = heard.group_bytes.get((at, of_flows[flow]), (0, 0))
            heard.group_bytes[at, of_flows[flow]] = before[0] + delivered, before[1] + arrived
    heard.samples = [_sample(line.split(), received) for line in said if line.startswith("sample ")]
    heard.samples += _datagram_samples(document, traffic, received)
    heard.samples.sort(key=lambda sample: sample[:2])
    time_outs = {flow: counts[2] for flow, counts in late.items() if counts[2]}
    time_outs |= {one.flow: one.counts[2] for one in opened if one.counts[2]}
    return Ends(heard, traffic.flows, traffic.groups, time_outs, sum(frame.height for frame in came.values()))


def _connection(heard: Heard, one: Connection) -> None:
    """The books of a connection that came and may have gone."""
    heard.opened.append(Opened(one.flow, one.source, 0))
    heard.opened_at.append((one.source, one.opened_ns))
    heard.sent[one.flow] = (one.source, *one.counts[:2])
    heard.asked += [(one.source, at, size) for at, size in one.asked]
    heard.done += [(one.flow, one.source, begun, at, size) for begun, at, size in one.answered]
    if one.closed_ns is not None:
        heard.closed.append((one.source, one.closed_ns))


def _senders(said: Sequence[str]) -> dict[int, tuple[int, int, int]]:
    """Packets sent, sent again, and time-outs, by flow."""
    found = {}
    for line in said:
        word, *numbers = line.split()
        if word == "flow":
            flow, sent, again, late = (int(float(number)) for number in numbers)
            found[flow] = sent, again, late
    return found


def _any_order(came: pl.DataFrame) -> Received:
    """A datagram is delivered as it arrives."""
    at = came["time_ns"].to_numpy().astype(np.int64)
    totals = np.cumsum(came["bytes"].to_numpy().astype(np.int64) - DATAGRAM_HEADERS)
    return Received(at, totals, at, totals)


def _in_order(came: pl.DataFrame, most: int | None) -> Received:
    """Each packet counts once; one in order waits for those before it. A transfer has no more than its size."""
    numbers, places = np.unique(came["seq"].to_numpy(), return_index=True)
    at = came["time_ns"].to_numpy().astype(np.int64)[places]
    payload = came["bytes"].to_numpy().astype(np.int64)[places] - HEADERS
    if most is not None and len(payload):
        payload = np.diff(np.minimum(np.cumsum(payload), most), prepend=0)
    order = np.argsort(at, kind="stable")
    whole = numbers == np.arange(len(numbers))
    delivered_at = np.maximum.accumulate(at[whole]) if len(at) else at
    return Received(at[order], np.cumsum(payload[order]), delivered_at, np.cumsum(payload[whole]))


def _most(spec: Mapping[str, Any]) -> int | None:
    is_transfer = spec["kind"] == "tcp" and spec.get("size")
    return octets("flows.size", spec["size"]) if is_transfer else None


def _until(times: Numbers, totals: Numbers, at: int) -> int:
    place = int(np.searchsorted(times, at, side="right"))
    return int(totals[place - 1]) if place else 0


def _transfer(heard: Heard, flow: int, spec: Mapping[str, Any], start: int, received: Received) -> None:
    size = _most(spec)
    if size is None or not len(received.delivered) or received.delivered[-1] < size:
        return
    at = int(received.delivered_at[np.searchsorted(received.delivered, size)])
    heard.done.append((flow, flow, start, at, size))
    heard.closed.append((flow, at))


def _datagrams(
    flow: int, times: npt.NDArray[np.uint64], came: pl.DataFrame, looks: Sequence[int]
) -> dict[tuple[int, int], dict[str, int]]:
    """What was sent and what the receiver saw, at each instant."""
    at, number = came["time_ns"].to_numpy().astype(np.int64), came["seq"].to_numpy()
    sent_at = times.astype(np.int64)
    # The trace is in whole microseconds, so a packet may seem to arrive a little early.
    delay = np.maximum(at - sent_at[number], 0)
    totals = {
        "delay": np.cumsum(delay),
        "variation": np.cumsum(np.abs(np.diff(delay, prepend=delay[:1]))),
        "expected": np.maximum.accumulate(number + 1) if len(number) else number,
        "received": np.arange(1, len(at) + 1),
    }
    found = {}
    for look in looks:
        seen = {key: _until(at, values, look) for key, values in totals.items()}
        found[look, flow] = seen | {"sent": int(np.searchsorted(sent_at, look, side="right"))}
    return found


def _sample(words: Sequence[str], received: Mapping[int, Received]) -> tuple[int, ...]:
    _, at, flow, *numbers = words
    time, number = round(float(at) * 1e9), int(flow)
    cwnd, threshold, srtt, in_flight = (float(value) for value in numbers)
    return time, number, int(cwnd), int(threshold), int(srtt) * SRTT_US, int(in_flight), *received[number].until(time)


def _datagram_samples(
    document: Mapping[str, Any], traffic: Traffic, received: Mapping[int, Received]
) -> Iterator[tuple[int, ...]]:
    """Yield rows of flows that have no window."""
    step = document["probes"].get("flows")
    if not step:
        return
    every = nanoseconds("probes.flows", step)
    for at in range(every, nanoseconds("duration", document["duration"]) + 1, every):
        for flow, kind in enumerate(traffic.kinds):
            if kind in DATAGRAMS:
                yield at, flow, 0, 0, 0, 0, *received[flow].until(at)


_NOTHING = pl.DataFrame(schema={"flow": pl.UInt32, "time_ns": pl.UInt64, "seq": pl.Int64, "bytes": pl.UInt32})
