"""Endpoint data of a run on ns-2: the receivers' from the trace, the senders' from the script's output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.engines.endpoint_log import EndpointLog, OpenedFlow
from sojourn.engines.ns2.network import DATAGRAMS, HEADERS
from sojourn.engines.ns2.traffic import Traffic
from sojourn.engines.ns2.web import KIND, Connection, reassemble
from sojourn.engines.recorded import Endpoints
from sojourn.engines.values import nanoseconds, octets

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]

DATAGRAM_HEADERS = 28
SENDER_PREFIXES = ("flow ", "sample ")
"""Prefixes of output lines about long-lived flows."""
SRTT_US = 10_000 // 8
"""Unit of `srtt_` in us: an eighth of `tcpTick_`."""


@dataclass(frozen=True)
class ReceiverLog:
    """A flow's payload at its receiver: times and cumulative bytes of first arrivals and of delivery in order."""

    arrived_at: Numbers
    arrived: Numbers
    delivered_at: Numbers
    delivered: Numbers

    def until(self, at: int) -> tuple[int, int]:
        """Bytes delivered in order and bytes arrived up to a time."""
        return _until(self.delivered_at, self.delivered, at), _until(self.arrived_at, self.arrived, at)


def endpoints(
    document: Mapping[str, Any],
    plan: Sequence[Mapping[str, Any]],
    traffic: Traffic,
    output: Sequence[str],
    opened: Sequence[Connection],
    arrivals: Mapping[int, pl.DataFrame],
    starts: Sequence[int],
) -> Endpoints:
    """Collect the endpoint data.

    `output` is the output of the script, `opened` has the web connections, `arrivals` the arrived packets by flow, and
    `starts` the start times of the statistics.
    """
    log, senders = EndpointLog(), _senders(output)
    end = nanoseconds("duration", document["duration"])
    sample_times = [*starts, end]
    received = {}
    for flow, (group, kind) in enumerate(zip(traffic.groups, traffic.kinds, strict=True)):
        if kind == KIND:
            continue
        spec, planned = document["flows"][group], plan[flow]
        packets = arrivals.get(flow, _NO_PACKETS)
        received[flow] = _in_order(packets, _transfer_bytes(spec)) if kind == "tcp" else _any_order(packets)
        log.flow_bytes |= {(at, flow): received[flow].until(at) for at in sample_times}
        log.opened.append(OpenedFlow(flow, flow, 0))
        if planned["start_ns"] < end:
            log.opened_at.append((flow, planned["start_ns"]))
        if kind == "tcp":
            log.sent[flow] = (flow, *senders[flow][:2]) if flow in senders else (flow, 0, 0)
            _transfer(log, flow, spec, planned["start_ns"], received[flow])
        else:
            log.datagrams |= _datagrams(flow, planned["times_ns"], packets, sample_times)
    for one in opened:
        received[one.flow] = ReceiverLog(*map(np.array, reassemble(arrivals.get(one.flow, _NO_PACKETS))))
        _connection(log, one)
    of_flows = traffic.groups + [traffic.groups[one.source] for one in opened]
    for at in sample_times:
        for flow, payload in received.items():
            delivered, arrived = payload.until(at)
            before = log.group_bytes.get((at, of_flows[flow]), (0, 0))
            log.group_bytes[at, of_flows[flow]] = before[0] + delivered, before[1] + arrived
    log.samples = [_sample(line.split(), received) for line in output if line.startswith("sample ")]
    log.samples += _datagram_samples(document, traffic, received)
    log.samples.sort(key=lambda sample: sample[:2])
    timeouts = {flow: counts[2] for flow, counts in senders.items() if counts[2]}
    timeouts |= {one.flow: one.counts[2] for one in opened if one.counts[2]}
    return Endpoints(log, traffic.flows, traffic.groups, timeouts, sum(frame.height for frame in arrivals.values()))


def _connection(log: EndpointLog, one: Connection) -> None:
    """Add a web connection to the log."""
    log.opened.append(OpenedFlow(one.flow, one.source, 0))
    log.opened_at.append((one.source, one.opened_ns))
    log.sent[one.flow] = (one.source, *one.counts[:2])
    log.requested += [(one.source, at, size) for at, size in one.requests]
    log.done += [(one.flow, one.source, begun, at, size) for begun, at, size in one.responses]
    if one.closed_ns is not None:
        log.closed.append((one.source, one.closed_ns))


def _senders(output: Sequence[str]) -> dict[int, tuple[int, int, int]]:
    """Packets sent, retransmissions and timeouts, by flow."""
    found = {}
    for line in output:
        word, *numbers = line.split()
        if word == "flow":
            flow, sent, retransmitted, timeouts = (int(float(number)) for number in numbers)
            found[flow] = sent, retransmitted, timeouts
    return found


def _any_order(arrivals: pl.DataFrame) -> ReceiverLog:
    """Payload of datagrams, which are delivered on arrival."""
    at = arrivals["time_ns"].to_numpy().astype(np.int64)
    totals = np.cumsum(arrivals["bytes"].to_numpy().astype(np.int64) - DATAGRAM_HEADERS)
    return ReceiverLog(at, totals, at, totals)


def _in_order(arrivals: pl.DataFrame, max_bytes: int | None) -> ReceiverLog:
    """Payload of TCP packets, counted once each and delivered in order, up to the transfer's size `max_bytes`."""
    numbers, places = np.unique(arrivals["seq"].to_numpy(), return_index=True)
    at = arrivals["time_ns"].to_numpy().astype(np.int64)[places]
    payload = arrivals["bytes"].to_numpy().astype(np.int64)[places] - HEADERS
    if max_bytes is not None and len(payload):
        payload = np.diff(np.minimum(np.cumsum(payload), max_bytes), prepend=0)
    order = np.argsort(at, kind="stable")
    whole = numbers == np.arange(len(numbers))
    delivered_at = np.maximum.accumulate(at[whole]) if len(at) else at
    return ReceiverLog(at[order], np.cumsum(payload[order]), delivered_at, np.cumsum(payload[whole]))


def _transfer_bytes(spec: Mapping[str, Any]) -> int | None:
    is_transfer = spec["kind"] == "tcp" and spec.get("size")
    return octets("flows.size", spec["size"]) if is_transfer else None


def _until(times: Numbers, totals: Numbers, at: int) -> int:
    place = int(np.searchsorted(times, at, side="right"))
    return int(totals[place - 1]) if place else 0


def _transfer(log: EndpointLog, flow: int, spec: Mapping[str, Any], start: int, received: ReceiverLog) -> None:
    size = _transfer_bytes(spec)
    if size is None or not len(received.delivered) or received.delivered[-1] < size:
        return
    at = int(received.delivered_at[np.searchsorted(received.delivered, size)])
    log.done.append((flow, flow, start, at, size))
    log.closed.append((flow, at))


def _datagrams(
    flow: int, times: npt.NDArray[np.uint64], arrivals: pl.DataFrame, sample_times: Sequence[int]
) -> dict[tuple[int, int], dict[str, int]]:
    """Counters of the sender and the receiver at each time."""
    at, number = arrivals["time_ns"].to_numpy().astype(np.int64), arrivals["seq"].to_numpy()
    sent_at = times.astype(np.int64)
    # The trace rounds to microseconds, so a packet may seem to arrive a little early.
    delay = np.maximum(at - sent_at[number], 0)
    totals = {
        "delay": np.cumsum(delay),
        "variation": np.cumsum(np.abs(np.diff(delay, prepend=delay[:1]))),
        "expected": np.maximum.accumulate(number + 1) if len(number) else number,
        "received": np.arange(1, len(at) + 1),
    }
    found = {}
    for sample_time in sample_times:
        counters = {key: _until(at, values, sample_time) for key, values in totals.items()}
        found[sample_time, flow] = counters | {"sent": int(np.searchsorted(sent_at, sample_time, side="right"))}
    return found


def _sample(words: Sequence[str], received: Mapping[int, ReceiverLog]) -> tuple[int, ...]:
    _, at, flow, *numbers = words
    time, number = round(float(at) * 1e9), int(flow)
    cwnd, threshold, srtt, in_flight = (float(value) for value in numbers)
    return time, number, int(cwnd), int(threshold), int(srtt) * SRTT_US, int(in_flight), *received[number].until(time)


def _datagram_samples(
    document: Mapping[str, Any], traffic: Traffic, received: Mapping[int, ReceiverLog]
) -> Iterator[tuple[int, ...]]:
    """Yield samples of datagram flows, which have no window."""
    step = document["probes"].get("flows")
    if not step:
        return
    step_ns = nanoseconds("probes.flows", step)
    for at in range(step_ns, nanoseconds("duration", document["duration"]) + 1, step_ns):
        for flow, kind in enumerate(traffic.kinds):
            if kind in DATAGRAMS:
                yield at, flow, 0, 0, 0, 0, *received[flow].until(at)


_NO_PACKETS = pl.DataFrame(schema={"flow": pl.UInt32, "time_ns": pl.UInt64, "seq": pl.Int64, "bytes": pl.UInt32})
